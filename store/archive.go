package store

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
)

// An archive is one file being read.
type archive struct {
	info ArchiveInfo
	file *os.File
	snap *boltread.Snapshot
	late *boltread.Snapshot // a later one, for chunks whose pages have been reused

	// complete, if set, adds to descriptions what the archive left out;
	// completed are those it was asked about.
	complete  func(*ArchiveInfo, *metric.Desc)
	completed map[*metric.Desc]*metric.Desc

	created int64          // wall clock
	serial  uint64         // see header
	descs   []*metric.Desc // by number; nil where one is lost
	byName  map[string][]uint32
	moved   map[movedMetric]*metric.Desc
	chunks  []*chunkRef // by class, then number
	events  []eventRef
	damage  map[string]bool

	keptEvents int // how many of the file's are in memory
}

// openArchive opens the file at path and reads its index. Damage is noted in
// the archive's description; an error means that nothing can be read.
func openArchive(path string) (*archive, error) {
	a, err := openFile(path)
	if err != nil {
		return nil, err
	}
	if err := a.load(); err != nil {
		a.file.Close()
		return nil, err
	}
	return a, nil
}

// openFile is openArchive before the index is read.
func openFile(path string) (*archive, error) {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("store: open archive: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("store: %s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	a := &archive{file: f}
	a.info.Path = path
	return a, nil
}

func (a *archive) close() error { return a.file.Close() }

// hurt notes damage, each piece once.
func (a *archive) hurt(err error) {
	if a.damage == nil {
		a.damage = make(map[string]bool)
	}
	text := err.Error()
	if !a.damage[text] {
		a.damage[text] = true
		a.info.Damage = append(a.info.Damage, text)
	}
}

// forgive forgets the damage of a file that is read again.
func (a *archive) forgive() { a.damage, a.info.Damage = nil, nil }

// loadTries is how often a live archive is read again because its writer
// committed meanwhile, which it does every hour or so.
const loadTries = 5

// load reads everything but chunks from the newest transaction in the file.
func (a *archive) load() error {
	var err error
	a.late = nil
	if a.snap, err = boltread.Open(boltread.FileSource(a.file)); err != nil {
		return fmt.Errorf("store: %s is not an archive, or too damaged to be read as it is (replay repair may help): %w", a.info.Path, err)
	}
	if st, err := a.file.Stat(); err == nil {
		a.info.Bytes = st.Size()
	}
	if err := a.loadMeta(); err != nil {
		return err
	}
	a.loadMetrics()
	a.loadIndex()
	a.loadEvents()
	a.span()
	for _, d := range a.snap.Damage() {
		a.hurt(d)
	}
	return nil
}

func (a *archive) record(bucket string, key []byte) ([]byte, error) {
	b, err := a.snap.Bucket(bucket)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("store: bucket %s is missing", bucket)
	}
	v, err := b.Get(key)
	if v == nil || err != nil {
		return nil, err
	}
	return unwrap(bucket, key, v)
}

func (a *archive) loadMeta() error {
	b, err := a.record(bucketMeta, []byte(metaArchive))
	if err == nil && b == nil {
		err = errors.New("the header is missing")
	}
	if err != nil {
		if spare, e := a.record(bucketSpare, []byte(metaArchive)); e == nil && spare != nil {
			a.hurt(fmt.Errorf("store: header, of which there is another copy: %w", err))
			b, err = spare, nil
		}
	}
	if err != nil {
		return fmt.Errorf("store: %s is not an archive, or its header is damaged (replay repair may help): %w", a.info.Path, err)
	}
	var h header
	if err := json.Unmarshal(b, &h); err != nil {
		return fmt.Errorf("store: %s: header: %w", a.info.Path, err)
	}
	if h.Format > FormatVersion || h.Format < 1 {
		return fmt.Errorf("store: %s has format version %d; this program knows versions up to %d: use a newer one", a.info.Path, h.Format, FormatVersion)
	}
	in := &a.info
	in.Format, in.ID, in.Host, in.BootID = h.Format, h.ID, h.Host, h.BootID
	in.TimeZone, in.Recorder = h.TimeZone, h.Recorder
	a.created, a.serial = h.Created, h.Serial
	a.loadSettings()
	return nil
}

func (a *archive) loadSettings() {
	// A record whose key is damaged is missed by those who ask for it.
	a.each(bucketMeta, func(_, _ []byte) error { return nil })
	if b, err := a.record(bucketMeta, []byte(metaConfig)); err != nil {
		a.hurt(err)
	} else if b != nil {
		raw, err := chunk.Unpack(b, chunk.MaxConfig)
		if err != nil {
			a.hurt(fmt.Errorf("store: configuration: %w", err))
		}
		a.info.Config = string(raw)
	}
	var intervals map[string]int64
	a.json(metaIntervals, &intervals)
	a.info.Intervals = make(map[metric.Class]int64)
	for name, ns := range intervals {
		if c, err := metric.ParseClass(name); err == nil {
			a.info.Intervals[c] = ns
		}
	}
}

// json reads a fact from the meta bucket; v stays as it is if there is none.
func (a *archive) json(key string, v any) {
	b, err := a.record(bucketMeta, []byte(key))
	if err == nil && b != nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		a.hurt(err)
	}
}

// each calls fn for every sound record of a bucket.
func (a *archive) each(bucket string, fn func(key, value []byte) error) {
	b, err := a.snap.Bucket(bucket)
	if err != nil {
		a.hurt(err)
		return
	}
	if b == nil {
		a.hurt(fmt.Errorf("store: bucket %s is missing", bucket))
		return
	}
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		if c.ValueSize() > maxRecord {
			a.hurt(fmt.Errorf("store: record %x of %s: %d bytes are too many", c.Key(), bucket, c.ValueSize()))
			continue
		}
		if c.IsBucket() {
			// No record is one: its flags are damaged. The checksum will tell
			// about the rest.
			a.hurt(fmt.Errorf("store: record %x of %s: its flags are damaged", c.Key(), bucket))
		}
		key := bytes.Clone(c.Key())
		v, err := c.Value()
		if err == nil {
			v, err = unwrap(bucket, key, v)
		}
		if err == nil {
			err = fn(key, v)
		}
		if err != nil {
			a.hurt(err)
		}
	}
}

func (a *archive) loadMetrics() {
	a.descs, a.byName = nil, make(map[string][]uint32)
	a.completed, a.moved = nil, nil
	a.each(bucketMetrics, func(key, value []byte) error { return a.addMetrics(key, value) })
	if len(a.damage) > 0 {
		a.each(bucketSpare, func(key, value []byte) error {
			if string(key) == metaArchive {
				return nil
			}
			return a.addMetrics(key, value)
		})
	}
}

// addMetrics adds a batch of descriptions, as far as they are not known.
func (a *archive) addMetrics(key, value []byte) error {
	ds, err := parseDescs(value)
	if err != nil || len(key) != 4 {
		return errors.Join(errDescs, err)
	}
	first := int(binary.BigEndian.Uint32(key))
	if first+len(ds) > maxMetrics {
		return errDescs
	}
	for len(a.descs) < first+len(ds) {
		a.descs = append(a.descs, nil)
	}
	for i, d := range ds {
		if n := first + i; a.descs[n] == nil {
			a.descs[n] = d
			a.byName[d.Name] = append(a.byName[d.Name], uint32(n))
		}
	}
	return nil
}

// desc is the description of metric number n, nil if it is lost.
func (a *archive) desc(n uint32) *metric.Desc {
	if int64(n) >= int64(len(a.descs)) {
		return nil
	}
	d := a.descs[n]
	if d == nil || a.complete == nil {
		return d
	}
	full := a.completed[d]
	if full == nil {
		c := *d
		a.complete(&a.info, &c)
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

// effective is the description of metric n as it was recorded in a class: the
// configuration may have moved it there.
func (a *archive) effective(n uint32, class metric.Class) *metric.Desc {
	d := a.desc(n)
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

func (a *archive) loadIndex() {
	known := make(map[uint64]*chunkRef)
	for _, r := range a.chunks {
		if r.memory == nil {
			known[uint64(r.info.Class)<<32|uint64(r.n)] = r
		}
	}
	a.chunks = a.chunks[:0]
	counts := make(map[string]uint32)
	a.each(bucketIndex, func(key, value []byte) error {
		class, n, ok := parseChunkKey(key)
		if !ok {
			return fmt.Errorf("store: index: a key of %d bytes", len(key))
		}
		in, err := chunk.ParseInfo(value)
		if err != nil || in.Class != class {
			return fmt.Errorf("store: index entry %d of class %v is damaged: %w", n, class, err)
		}
		counts[class.String()]++
		r := known[uint64(class)<<32|uint64(n)]
		if r == nil || r.info != in {
			r = &chunkRef{a: a, n: n, info: in}
		}
		a.chunks = append(a.chunks, r)
		return nil
	})
	var want totals
	a.json(metaTotals, &want)
	a.info.Live = !want.Finished
	a.reserveNumbers(int(want.Metrics))
	short := len(a.damage) > 0 || len(a.snap.Damage()) > 0
	for class, n := range want.Chunks {
		short = short || counts[class] < n
	}
	if short {
		a.listUnlisted(counts)
	}
	for class, n := range want.Chunks {
		if counts[class] < n {
			a.hurt(fmt.Errorf("store: %d of %d chunks of class %s are lost", n-counts[class], n, class))
		}
	}
}

// listUnlisted finds the chunks whose index entries are lost, and makes new
// entries from what they hold.
func (a *archive) listUnlisted(counts map[string]uint32) {
	b, err := a.snap.Bucket(bucketChunks)
	if b == nil {
		a.hurt(errors.Join(errors.New("store: the bucket of the chunks is missing"), err))
		return
	}
	listed := make(map[string]bool, len(a.chunks))
	for _, r := range a.chunks {
		listed[string(chunkKey(r.info.Class, r.n))] = true
	}
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		class, n, valid := parseChunkKey(c.Key())
		if !valid || listed[string(c.Key())] {
			continue
		}
		in, err := a.inspect(b, c.Key())
		if err != nil || in.Class != class {
			continue // it counts as lost
		}
		a.hurt(fmt.Errorf("store: the index entry of chunk %d of class %s is lost; the chunk is not", n, class))
		counts[class.String()]++
		a.chunks = append(a.chunks, &chunkRef{a: a, n: n, info: in})
	}
	slices.SortFunc(a.chunks, func(x, y *chunkRef) int {
		return cmp.Or(cmp.Compare(x.info.Class, y.info.Class), cmp.Compare(x.n, y.n))
	})
}

// inspect decodes a chunk for what its index entry should say.
func (a *archive) inspect(chunks *boltread.Bucket, key []byte) (chunk.Info, error) {
	home, err := chunkHome(chunks, key)
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
	in, err := c.Inspect(a.desc)
	in.Size, in.Sum = int64(len(data)), chunk.Checksum(data)
	return in, err
}

// reserveNumbers keeps the numbers of metrics whose descriptions are lost from
// being given to others: chunks in the file refer to them.
func (a *archive) reserveNumbers(n int) {
	if n == 0 && len(a.damage) > 0 {
		// It cannot be told how many there were.
		n = len(a.descs) + 1<<16
	}
	for len(a.descs) < min(n, maxMetrics) {
		a.descs = append(a.descs, nil)
	}
}

func (a *archive) loadEvents() {
	a.events, a.keptEvents = a.events[:0], 0
	a.each(bucketEvents, func(key, value []byte) error {
		head, err := chunk.ParseEventHead(value)
		if err != nil || len(key) != 4 {
			return errors.Join(errors.New("store: a batch of events is damaged"), err)
		}
		ref := eventRef{n: binary.BigEndian.Uint32(key), head: head, batch: value, churn: true}
		for _, k := range head.Kinds {
			ref.churn = ref.churn && isChurn(k)
		}
		a.events = append(a.events, ref)
		return nil
	})
}

// span sets the time that the archive covers.
func (a *archive) span() {
	// One without ticks covers the instant when it was made.
	a.info.From, a.info.To, a.info.Empty = a.created, a.created, len(a.chunks) == 0
	for i, r := range a.chunks {
		if i == 0 {
			a.info.From, a.info.To = r.info.From, r.info.To
		}
		a.info.From, a.info.To = min(a.info.From, r.info.From), max(a.info.To, r.info.To)
	}
}

// setTail replaces what the archive has beside the file: the ticks and events
// that are journalled and not sealed.
func (a *archive) setTail(cat *catalogue, chunks []*chunk.Sealed, events []metric.Event) {
	a.chunks = slices.DeleteFunc(a.chunks, func(r *chunkRef) bool { return r.memory != nil })
	a.events = slices.DeleteFunc(a.events, func(e eventRef) bool { return e.batch == nil })
	for _, s := range chunks {
		a.chunks = append(a.chunks, &chunkRef{a: a, n: 1<<32 - 1, info: s.Info, memory: s.Data})
	}
	slices.SortStableFunc(a.chunks, func(x, y *chunkRef) int { return int(x.info.Class) - int(y.info.Class) })
	for i := len(a.descs); i < len(cat.descs); i++ {
		a.byName[cat.descs[i].Name] = append(a.byName[cat.descs[i].Name], uint32(i))
	}
	a.descs = cat.descs
	if len(events) > 0 {
		ref := eventRef{n: 1<<32 - 1, memory: events}
		ref.head.From, ref.head.To = events[0].At.Wall, events[0].At.Wall
		for i := range events {
			ref.head.From, ref.head.To = min(ref.head.From, events[i].At.Wall), max(ref.head.To, events[i].At.Wall)
		}
		a.events = append(a.events, ref)
	}
	a.span()
}

// last is the wall clock up to which the file of an archive holds ticks, or
// when it was made if it holds none.
func (a *archive) last() int64 {
	last := int64(0)
	for _, r := range a.chunks {
		if r.memory == nil {
			last = max(last, r.info.To)
		}
	}
	if last == 0 {
		return a.created
	}
	return last
}

// archiveID is the ID that the archive at path was given when it was made.
func archiveID(path string) (string, error) {
	a, err := openArchive(path)
	if err != nil {
		return "", err
	}
	defer a.close()
	return a.info.ID, nil
}
