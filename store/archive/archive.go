package archive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// A File is one archive being read.
type File struct {
	Info Info
	file *os.File
	Snap *boltread.Snapshot
	late *boltread.Snapshot // a later one, for chunks whose pages have been reused

	// complete, if set, adds to descriptions what the archive left out;
	// completed are those it was asked about.
	Complete  func(*Info, *metric.Desc)
	completed map[*metric.Desc]*metric.Desc

	created int64          // wall clock
	serial  uint64         // see header
	Descs   []*metric.Desc // by number; nil where one is lost
	ByName  map[string][]uint32
	moved   map[movedMetric]*metric.Desc
	Chunks  []*Ref // by class, then number
	Events  []EventBatch
	damage  map[string]bool

	keptEvents int // how many of the file's are in memory
}

// Open opens the file at path and reads its index. Damage is noted in
// the archive's description; an error means that nothing can be read.
func Open(path string) (*File, error) {
	a, err := OpenUnread(path)
	if err != nil {
		return nil, err
	}
	if err := a.Load(); err != nil {
		a.file.Close()
		return nil, err
	}
	return a, nil
}

// OpenUnread is Open before the index is read.
func OpenUnread(path string) (*File, error) {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, &fault.Error{Op: "open archive", Path: path, Err: err}
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fault.Error{Path: path, Kind: fault.NotArchive, Err: errors.New("it is not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	a := &File{file: f}
	a.Info.Path = path
	return a, nil
}

func (a *File) Close() error { return a.file.Close() }

// Hurt notes damage, each piece once.
func (a *File) Hurt(err error) {
	if a.damage == nil {
		a.damage = make(map[string]bool)
	}
	text := err.Error()
	if !a.damage[text] {
		a.damage[text] = true
		a.Info.Damage = append(a.Info.Damage, text)
	}
}

// Forgive forgets the damage of a file that is read again.
func (a *File) Forgive() { a.damage, a.Info.Damage = nil, nil }

// LoadTries is how often a live archive is read again because its writer
// committed meanwhile, which it does every hour or so.
const LoadTries = 5

// Load reads everything but chunks from the newest transaction in the file.
func (a *File) Load() error {
	var err error
	a.late = nil
	if a.Snap, err = boltread.Open(boltread.FileSource(a.file)); err != nil {
		return &fault.Error{Path: a.Info.Path, Kind: fault.NotArchive, Err: fmt.Errorf("it is not an archive, or too damaged to be read as it is (replay repair may help): %w", err)}
	}
	if st, err := a.file.Stat(); err == nil {
		a.Info.Bytes = st.Size()
	}
	if err := a.loadMeta(); err != nil {
		return err
	}
	a.loadMetrics()
	a.loadIndex()
	a.loadEvents()
	a.span()
	for _, d := range a.Snap.Damage() {
		a.Hurt(d)
	}
	return nil
}

func (a *File) Record(bucket string, key []byte) ([]byte, error) {
	b, err := a.Snap.Bucket(bucket)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("bucket %s is missing", bucket)
	}
	v, err := b.Get(key)
	if v == nil || err != nil {
		return nil, err
	}
	return layout.Unwrap(bucket, key, v)
}

func (a *File) loadMeta() error {
	b, err := a.Record(layout.BucketMeta, []byte(layout.MetaArchive))
	if err == nil && b == nil {
		err = errors.New("the header is missing")
	}
	if err != nil {
		if spare, e := a.Record(layout.BucketSpare, []byte(layout.MetaArchive)); e == nil && spare != nil {
			a.Hurt(fmt.Errorf("header, of which there is another copy: %w", err))
			b, err = spare, nil
		}
	}
	if err != nil {
		return &fault.Error{Path: a.Info.Path, Kind: fault.NotArchive, Err: fmt.Errorf("it is not an archive, or its header is damaged (replay repair may help): %w", err)}
	}
	var h layout.Header
	if err := json.Unmarshal(b, &h); err != nil {
		return &fault.Error{Path: a.Info.Path, Kind: fault.Damaged, Err: fmt.Errorf("header: %w", err)}
	}
	if h.Format > layout.FormatVersion || h.Format < 1 {
		return &fault.Error{Path: a.Info.Path, Kind: fault.Newer,
			Err: fmt.Errorf("it has format version %d; this program knows versions up to %d: use a newer one", h.Format, layout.FormatVersion)}
	}
	in := &a.Info
	in.Format, in.ID, in.Host, in.BootID = h.Format, h.ID, h.Host, h.BootID
	in.TimeZone, in.Recorder = h.TimeZone, h.Recorder
	a.created, a.serial = h.Created, h.Serial
	a.loadSettings()
	return nil
}

func (a *File) loadSettings() {
	// A record whose key is damaged is missed by those who ask for it.
	a.each(layout.BucketMeta, func(_, _ []byte) error { return nil })
	if b, err := a.Record(layout.BucketMeta, []byte(layout.MetaConfig)); err != nil {
		a.Hurt(err)
	} else if b != nil {
		raw, err := chunk.Unpack(b, chunk.MaxConfig)
		if err != nil {
			a.Hurt(fmt.Errorf("configuration: %w", err))
		}
		a.Info.Config = string(raw)
	}
	var intervals map[string]int64
	a.json(layout.MetaIntervals, &intervals)
	a.Info.Intervals = make(map[metric.Class]int64)
	for name, ns := range intervals {
		if c, err := metric.ParseClass(name); err == nil {
			a.Info.Intervals[c] = ns
		}
	}
}

// json reads a fact from the meta bucket; v stays as it is if there is none.
func (a *File) json(key string, v any) {
	b, err := a.Record(layout.BucketMeta, []byte(key))
	if err == nil && b != nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		a.Hurt(err)
	}
}

// each calls fn for every sound record of a bucket.
func (a *File) each(bucket string, fn func(key, value []byte) error) {
	b, err := a.Snap.Bucket(bucket)
	if err != nil {
		a.Hurt(err)
		return
	}
	if b == nil {
		a.Hurt(fmt.Errorf("bucket %s is missing", bucket))
		return
	}
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		if c.ValueSize() > layout.MaxRecord {
			a.Hurt(fmt.Errorf("record %x of %s: %d bytes are too many", c.Key(), bucket, c.ValueSize()))
			continue
		}
		if c.IsBucket() {
			// No record is one: its flags are damaged. The checksum will tell
			// about the rest.
			a.Hurt(fmt.Errorf("record %x of %s: its flags are damaged", c.Key(), bucket))
		}
		key := bytes.Clone(c.Key())
		v, err := c.Value()
		if err == nil {
			v, err = layout.Unwrap(bucket, key, v)
		}
		if err == nil {
			err = fn(key, v)
		}
		if err != nil {
			a.Hurt(err)
		}
	}
}

func (a *File) loadMetrics() {
	a.Descs, a.ByName = nil, make(map[string][]uint32)
	a.completed, a.moved = nil, nil
	a.each(layout.BucketMetrics, func(key, value []byte) error { return a.addMetrics(key, value) })
	if len(a.damage) > 0 {
		a.each(layout.BucketSpare, func(key, value []byte) error {
			if string(key) == layout.MetaArchive {
				return nil
			}
			return a.addMetrics(key, value)
		})
	}
}

// addMetrics adds a batch of descriptions, as far as they are not known.
func (a *File) addMetrics(key, value []byte) error {
	ds, err := layout.ParseDescs(value)
	if err != nil || len(key) != 4 {
		return errors.Join(layout.ErrDescs, err)
	}
	first := int(binary.BigEndian.Uint32(key))
	if first+len(ds) > layout.MaxMetrics {
		return layout.ErrDescs
	}
	for len(a.Descs) < first+len(ds) {
		a.Descs = append(a.Descs, nil)
	}
	for i, d := range ds {
		if n := first + i; a.Descs[n] == nil {
			a.Descs[n] = d
			a.ByName[d.Name] = append(a.ByName[d.Name], uint32(n))
		}
	}
	return nil
}

// Desc is the description of metric number n, nil if it is lost.
func (a *File) Desc(n uint32) *metric.Desc {
	if int64(n) >= int64(len(a.Descs)) {
		return nil
	}
	d := a.Descs[n]
	if d == nil || a.Complete == nil {
		return d
	}
	full := a.completed[d]
	if full == nil {
		c := *d
		a.Complete(&a.Info, &c)
		if full = d; c != *d {
			full = &c
		}
		if a.completed == nil {
			a.completed = make(map[*metric.Desc]*metric.Desc)
		}
		a.completed[d] = full
	}
	return full
}

// Effective is the description of metric n as it was recorded in a class: the
// configuration may have moved it there.
func (a *File) Effective(n uint32, class metric.Class) *metric.Desc {
	d := a.Desc(n)
	if d.Class == class {
		return d
	}
	k := movedMetric{n, class}
	if a.moved[k] == nil {
		moved := *d
		moved.Class = class
		if a.moved == nil {
			a.moved = make(map[movedMetric]*metric.Desc)
		}
		a.moved[k] = &moved
	}
	return a.moved[k]
}

type movedMetric struct {
	n     uint32
	class metric.Class
}

func (a *File) loadIndex() {
	known := make(map[uint64]*Ref)
	for _, r := range a.Chunks {
		if r.memory == nil {
			known[uint64(r.Info.Class)<<32|uint64(r.n)] = r
		}
	}
	a.Chunks = a.Chunks[:0]
	counts := make(map[string]uint32)
	a.each(layout.BucketIndex, func(key, value []byte) error {
		class, n, ok := layout.ParseChunkKey(key)
		if !ok {
			return fmt.Errorf("index: a key of %d bytes", len(key))
		}
		in, err := chunk.ParseInfo(value)
		if err != nil || in.Class != class {
			return fmt.Errorf("index entry %d of class %v is damaged: %w", n, class, err)
		}
		counts[class.String()]++
		r := known[uint64(class)<<32|uint64(n)]
		if r == nil || r.Info != in {
			r = &Ref{A: a, n: n, Info: in}
		}
		a.Chunks = append(a.Chunks, r)
		return nil
	})
	var want layout.Totals
	a.json(layout.MetaTotals, &want)
	a.Info.Live = !want.Finished
	a.reserveNumbers(int(want.Metrics))
	short := len(a.damage) > 0 || len(a.Snap.Damage()) > 0
	for class, n := range want.Chunks {
		short = short || counts[class] < n
	}
	if short {
		a.listUnlisted(counts)
	}
	for class, n := range want.Chunks {
		if counts[class] < n {
			a.Hurt(fmt.Errorf("%d of %d chunks of class %s are lost", n-counts[class], n, class))
		}
	}
}

// listUnlisted finds the chunks whose index entries are lost, and makes new
// entries from what they hold.
func (a *File) listUnlisted(counts map[string]uint32) {
	b, err := a.Snap.Bucket(layout.BucketChunks)
	if b == nil {
		a.Hurt(errors.Join(errors.New("the bucket of the chunks is missing"), err))
		return
	}
	listed := make(map[string]bool, len(a.Chunks))
	for _, r := range a.Chunks {
		listed[string(layout.ChunkKey(r.Info.Class, r.n))] = true
	}
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		class, n, valid := layout.ParseChunkKey(c.Key())
		if !valid || listed[string(c.Key())] {
			continue
		}
		in, err := a.inspect(b, c.Key())
		if err != nil || in.Class != class {
			continue // it counts as lost
		}
		a.Hurt(fmt.Errorf("the index entry of chunk %d of class %s is lost; the chunk is not", n, class))
		counts[class.String()]++
		a.Chunks = append(a.Chunks, &Ref{A: a, n: n, Info: in})
	}
	slices.SortFunc(a.Chunks, func(x, y *Ref) int {
		return cmp.Or(cmp.Compare(x.Info.Class, y.Info.Class), cmp.Compare(x.n, y.n))
	})
}

// inspect decodes a chunk for what its index entry should say.
func (a *File) inspect(chunks *boltread.Bucket, key []byte) (chunk.Info, error) {
	home, err := layout.ChunkHome(chunks, key)
	if err != nil {
		return chunk.Info{}, err
	}
	data, err := home.Get(key)
	if err != nil {
		return chunk.Info{}, err
	}
	c, err := chunk.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return chunk.Info{}, err
	}
	in, err := c.Inspect(a.Desc)
	in.Size, in.Sum = int64(len(data)), chunk.Checksum(data)
	return in, err
}

// reserveNumbers keeps the numbers of metrics whose descriptions are lost from
// being given to others: chunks in the file refer to them.
func (a *File) reserveNumbers(n int) {
	if n == 0 && len(a.damage) > 0 {
		// It cannot be told how many there were.
		n = len(a.Descs) + 1<<16
	}
	for len(a.Descs) < min(n, layout.MaxMetrics) {
		a.Descs = append(a.Descs, nil)
	}
}

func (a *File) loadEvents() {
	a.Events, a.keptEvents = a.Events[:0], 0
	a.each(layout.BucketEvents, func(key, value []byte) error {
		head, err := chunk.ParseEventHead(value)
		if err != nil || len(key) != 4 {
			return errors.Join(errors.New("a batch of events is damaged"), err)
		}
		ref := EventBatch{n: binary.BigEndian.Uint32(key), Head: head, batch: value, Churn: true}
		for _, k := range head.Kinds {
			ref.Churn = ref.Churn && layout.IsChurn(k)
		}
		a.Events = append(a.Events, ref)
		return nil
	})
}

// span sets the time that the archive covers.
func (a *File) span() {
	// One without ticks covers the instant when it was made.
	a.Info.From, a.Info.To, a.Info.Empty = a.created, a.created, len(a.Chunks) == 0
	for i, r := range a.Chunks {
		if i == 0 {
			a.Info.From, a.Info.To = r.Info.From, r.Info.To
		}
		a.Info.From, a.Info.To = min(a.Info.From, r.Info.From), max(a.Info.To, r.Info.To)
	}
}

// SetTail replaces what the archive has beside the file: the ticks and events
// that are journalled and not sealed.
func (a *File) SetTail(cat *layout.Catalog, chunks []*chunk.Sealed, events []metric.Event) {
	a.Chunks = slices.DeleteFunc(a.Chunks, func(r *Ref) bool { return r.memory != nil })
	a.Events = slices.DeleteFunc(a.Events, func(e EventBatch) bool { return e.batch == nil })
	for _, s := range chunks {
		a.Chunks = append(a.Chunks, &Ref{A: a, n: 1<<32 - 1, Info: s.Info, memory: s.Data})
	}
	slices.SortStableFunc(a.Chunks, func(x, y *Ref) int { return int(x.Info.Class) - int(y.Info.Class) })
	for i := len(a.Descs); i < len(cat.Descs); i++ {
		a.ByName[cat.Descs[i].Name] = append(a.ByName[cat.Descs[i].Name], uint32(i))
	}
	a.Descs = cat.Descs
	if len(events) > 0 {
		ref := EventBatch{n: 1<<32 - 1, memory: events}
		ref.Head.From, ref.Head.To = events[0].At.Wall, events[0].At.Wall
		for i := range events {
			ref.Head.From, ref.Head.To = min(ref.Head.From, events[i].At.Wall), max(ref.Head.To, events[i].At.Wall)
		}
		a.Events = append(a.Events, ref)
	}
	a.span()
}

// Last is the wall clock up to which the file of an archive holds ticks, or
// when it was made if it holds none.
func (a *File) Last() int64 {
	last := int64(0)
	for _, r := range a.Chunks {
		if r.memory == nil {
			last = max(last, r.Info.To)
		}
	}
	if last == 0 {
		return a.created
	}
	return last
}

// IDOf is the ID that the archive at path was given when it was made.
func IDOf(path string) (string, error) {
	a, err := Open(path)
	if err != nil {
		return "", err
	}
	defer a.Close()
	return a.Info.ID, nil
}

// ArchiveInfo describes one archive, finished or live.
type Info struct {
	Path string
	// ID is random and made at creation: it ties a printed answer to the
	// bytes it came from.
	ID     string
	Format int
	Host   metric.Host
	BootID string
	// TimeZone is the IANA name, or "+01:00", in force at creation.
	TimeZone string
	Recorder string // version of the recorder
	Config   string // effective configuration, TOML
	// From and To are the wall clocks of the first and the last tick; of when it
	// was made, if it is Empty.
	From, To int64
	Live     bool
	Empty    bool // holds no ticks
	Bytes    int64
	// Intervals are the effective intervals of the classes, in nanoseconds.
	Intervals map[metric.Class]int64
	// Damage lists what could not be read, a sentence each.
	Damage []string
}
