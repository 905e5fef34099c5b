package archive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/digest"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// A File is one archive being read.
type File struct {
	Info Info
	file *layout.File
	// Snap is the transaction that all but chunks were read from. late is a later one, for
	// chunks whose pages have been reused.
	Snap, late *boltread.Snapshot

	// Complete, if set, adds to descriptions what the archive left out. completed caches its
	// results.
	Complete  func(*metric.Host, *metric.Desc)
	completed map[*metric.Desc]*metric.Desc

	head     layout.Header
	totals   layout.Totals
	Progress *layout.Progress    // nil if the archive does not record it
	Descs    []*metric.Desc      // by number; nil where one is lost
	ByName   map[string][]uint32 // numbers of the metrics with a name
	moved    map[movedMetric]*metric.Desc
	Chunks   []*ChunkRef // by class, then number
	Events   []EventBatch
	damage   map[string]bool

	places func() *digest.Places // reads them once, also for the twins

	keptEvents int // how many of the file's events are in memory

	// Hidden are stretches of the wall clock, apart and in order, that another archive covers
	// better: readings in them are not shown.
	Hidden []Stretch

	// Covered is the wall clock before which an earlier archive of the same boot holds the
	// recording. What this one holds from before are the standing values, which the earlier one
	// has already. 0 where there is no such archive.
	Covered int64
}

// A Stretch is a stretch of the wall clock, both ends inclusive.
type Stretch struct{ From, To int64 }

// Hides reports whether readings at an instant are hidden.
func (a *File) Hides(wall int64) bool {
	for _, h := range a.Hidden {
		if h.From <= wall && wall <= h.To {
			return true
		}
	}
	return false
}

// hidesOf reports whether anything between two instants is hidden.
func (a *File) hidesOf(from, to int64) bool {
	return slices.ContainsFunc(a.Hidden, func(h Stretch) bool { return h.From <= to && h.To >= from })
}

// Hide hides stretches, and narrows the time that the archive covers to what is left.
func (a *File) Hide(list []Stretch) {
	a.Hidden = list
	a.span()
	in := &a.Info
	for _, h := range list {
		if h.From <= in.From && h.To >= in.From {
			in.From = h.To + 1
		}
	}
	for _, h := range slices.Backward(list) {
		if h.To >= in.To && h.From <= in.To {
			in.To = h.From - 1
		}
	}
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

// OpenUnread is Open without reading the index.
func OpenUnread(path string) (*File, error) {
	f, err := layout.Open(path)
	if err != nil {
		return nil, &fault.Error{Op: "open archive", Path: path, Err: err}
	}
	a := &File{file: f}
	a.places = sync.OnceValue(a.readPlaces)
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

// LoadTries is how often a live archive is read again if its writer has committed meanwhile,
// which it does every hour or so.
const LoadTries = 5

// Load reads everything but chunks from the newest transaction in the file.
func (a *File) Load() error {
	var err error
	a.late = nil
	if !a.file.InBundle() && layout.IsBundle(a.file) {
		return a.bundled()
	}
	if a.Snap, err = boltread.Open(a.file); err != nil {
		if !boltread.Resembles(a.file) {
			return &fault.Error{Path: a.Info.Path, Kind: fault.NotArchive, Err: layout.ErrForeign}
		}
		return &fault.Error{Path: a.Info.Path, Kind: fault.NotArchive, Err: fmt.Errorf("it is too damaged to be read as it is (replay repair may help): %w", err)}
	}
	if size, err := a.file.Size(); err == nil {
		a.Info.Bytes = size
	}
	if err := a.loadHeader(); err != nil {
		return err
	}
	a.loadRecords()
	a.span()
	for _, d := range a.Snap.Damage() {
		a.Hurt(d)
	}
	return nil
}

// bundled returns the error that a bundle is not read as an archive.
func (a *File) bundled() error {
	_, _, err := layout.BundleAt(a.Info.Path)
	if err == nil {
		err = &fault.Error{Path: a.Info.Path, Kind: fault.NotArchive, Err: errors.New("it is a bundle of archives, and not one: name one in it, as PATH/NAME")}
	}
	return err
}

func (a *File) loadHeader() error {
	h, err := layout.HeaderOf(a.Snap)
	if h == nil {
		return &fault.Error{Path: a.Info.Path, Kind: fault.NotArchive, Err: fmt.Errorf("it is another database, or an archive whose header is damaged (replay repair may help): %w", err)}
	}
	if err != nil {
		a.Hurt(fmt.Errorf("header, of which there is another copy: %w", err))
	}
	if err := layout.CheckFormat(h.Format); err != nil {
		return &fault.Error{Path: a.Info.Path, Kind: fault.OtherFormat, Err: err}
	}
	a.head = *h
	in := &a.Info
	in.Format, in.ID, in.Host, in.BootID = h.Format, h.ID, h.Host, h.BootID
	in.TimeZone, in.Recorder, in.Since, in.Until = h.TimeZone, h.Recorder, h.Since, h.Until
	if h.Reduced != nil && h.Reduced.Step > 0 {
		in.Step, in.Of = h.Reduced.Step, h.Reduced.Of
	}
	return nil
}

// loadRecords reads all buckets but the chunks. It reads the spare descriptions only where
// others may be lost.
func (a *File) loadRecords() {
	known := make(map[string]*ChunkRef)
	for _, r := range a.Chunks {
		if r.beside == nil {
			known[string(r.key())] = r
		}
	}
	a.Info.Config, a.Info.Intervals, a.totals, a.Progress = "", metric.Intervals{}, layout.Totals{}, nil
	a.Descs, a.ByName, a.completed, a.moved = nil, make(map[string][]uint32), nil, nil
	a.Chunks, a.Events, a.keptEvents = a.Chunks[:0], a.Events[:0], 0
	v := layout.Visitor{
		Damaged:    func(e *layout.RecordError) { a.Hurt(e) },
		Config:     func(text string) { a.Info.Config = text },
		Intervals:  func(iv metric.Intervals) { a.Info.Intervals = iv },
		Totals:     func(t layout.Totals) { a.totals = t },
		Progress:   func(p layout.Progress) { a.Progress = &p },
		Descs:      a.addDescs,
		SpareDescs: a.addDescs,
		Index: func(n uint32, in chunk.Info) {
			r := known[string(layout.ChunkKey(in.Class, n))]
			if r == nil || r.Info != in {
				r = &ChunkRef{Archive: a, n: n, Info: in}
			}
			a.Chunks = append(a.Chunks, r)
		},
		EventHead: a.addEvents,
	}
	v.Visit(a.Snap, layout.BucketMeta, layout.BucketMetrics)
	if len(a.damage) > 0 {
		v.Visit(a.Snap, layout.BucketSpare)
	}
	v.Visit(a.Snap, layout.BucketIndex)
	a.Info.Live = !a.totals.Finished
	a.reserveNumbers(int(a.totals.Metrics))
	a.countChunks()
	v.Visit(a.Snap, layout.BucketEvents)
}

// addDescs adds the descriptions of a batch that are not known yet.
func (a *File) addDescs(first uint32, ds []*metric.Desc) {
	for i, d := range ds {
		if n := first + uint32(i); int(n) >= len(a.Descs) || a.Descs[n] == nil {
			a.Descs = layout.Place(a.Descs, n, ds[i:i+1])
			a.ByName[d.Name] = append(a.ByName[d.Name], n)
		}
	}
}

func (a *File) addEvents(n uint32, head chunk.EventHead, batch []byte) {
	ref := EventBatch{n: n, Head: head, batch: batch, Churn: true}
	for _, k := range head.Kinds {
		ref.Churn = ref.Churn && layout.IsChurn(k)
	}
	a.Events = append(a.Events, ref)
}

// Desc returns the description of metric number n, nil if it is lost.
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
		a.Complete(&a.Info.Host, &c)
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

// Effective returns the description of metric n as it was recorded in a class: the
// configuration may have moved the metric there.
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

// countChunks notes how many chunks are lost, after it has looked for those that lost only
// their index entry.
func (a *File) countChunks() {
	counts := make(map[string]uint32)
	for _, r := range a.Chunks {
		counts[r.Info.Class.String()]++
	}
	short := len(a.damage) > 0 || len(a.Snap.Damage()) > 0
	for class, n := range a.totals.Chunks {
		short = short || counts[class] < n
	}
	if short {
		a.listUnlisted(counts)
	}
	for class, n := range a.totals.Chunks {
		if counts[class] < n {
			a.Hurt(fmt.Errorf("%d of %d chunks of class %s are lost", n-counts[class], n, class))
		}
	}
}

// listUnlisted finds the chunks whose index entries are lost, and makes new entries from their
// contents.
func (a *File) listUnlisted(counts map[string]uint32) {
	listed := make(map[string]bool, len(a.Chunks))
	for _, r := range a.Chunks {
		listed[string(r.key())] = true
	}
	v := layout.Visitor{
		Damaged: func(e *layout.RecordError) { a.Hurt(e) },
		Chunk: func(class metric.Class, n uint32, read func() ([]byte, error)) {
			if listed[string(layout.ChunkKey(class, n))] {
				return
			}
			data, err := read()
			if err != nil {
				return // the chunk counts as lost
			}
			in, err := layout.InspectChunk(data, a.Desc)
			if err != nil || in.Class != class {
				return
			}
			a.Hurt(fmt.Errorf("the index entry of chunk %d of class %s is lost; the chunk is not", n, class))
			counts[class.String()]++
			a.Chunks = append(a.Chunks, &ChunkRef{Archive: a, n: n, Info: in})
		},
	}
	v.Visit(a.Snap, layout.BucketChunks)
	slices.SortFunc(a.Chunks, func(x, y *ChunkRef) int {
		return cmp.Or(cmp.Compare(x.Info.Class, y.Info.Class), cmp.Compare(x.n, y.n))
	})
}

// reserveNumbers keeps the numbers of metrics whose descriptions are lost from
// being given to others: chunks in the file refer to them.
func (a *File) reserveNumbers(n int) {
	if n == 0 && len(a.damage) > 0 {
		// The file does not say how many there were.
		n = len(a.Descs) + 1<<16
	}
	for len(a.Descs) < min(n, layout.MaxMetrics) {
		a.Descs = append(a.Descs, nil)
	}
}

// span sets the time that the archive covers.
func (a *File) span() {
	// An archive without ticks covers the instant when it was made.
	a.Info.From, a.Info.To, a.Info.Empty, a.Info.Last = a.head.Created, a.head.Created, len(a.Chunks) == 0, metric.Stamp{}
	for i, r := range a.Chunks {
		if i == 0 {
			a.Info.From, a.Info.To = r.Info.From, r.Info.To
		}
		a.Info.From, a.Info.To = min(a.Info.From, r.Info.From), max(a.Info.To, r.Info.To)
		if r.Info.Last.Cont > a.Info.Last.Cont {
			a.Info.Last = r.Info.Last
		}
	}
	if !a.Info.Empty {
		a.Info.To = max(a.Info.To, a.Info.Until)
	}
}

// Begin returns the wall clock at which the archive begins to hold what was recorded. What a
// part of other archives holds from before are the standing values.
func (in *Info) Begin() int64 { return max(in.From, min(in.Since, in.To)) }

// SetTail replaces what the archive has beside the file: the ticks and events that are
// journalled and not sealed.
func (a *File) SetTail(cat *layout.Catalog, chunks []*Beside, events []metric.Event) {
	a.Chunks = slices.DeleteFunc(a.Chunks, func(r *ChunkRef) bool { return r.beside != nil })
	a.Events = slices.DeleteFunc(a.Events, func(e EventBatch) bool { return e.batch == nil })
	for _, s := range chunks {
		a.Chunks = append(a.Chunks, &ChunkRef{Archive: a, n: 1<<32 - 1, Info: s.Info, beside: s})
	}
	slices.SortStableFunc(a.Chunks, func(x, y *ChunkRef) int { return int(x.Info.Class) - int(y.Info.Class) })
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

// Last returns the wall clock up to which the file of an archive holds ticks, or when it was
// made if it holds none.
func (a *File) Last() int64 {
	last := int64(0)
	for _, r := range a.Chunks {
		if r.beside == nil {
			last = max(last, r.Info.To)
		}
	}
	if last == 0 {
		return a.head.Created
	}
	return last
}

// Info describes one archive, finished or live.
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
	// From and To are the wall clocks of the first and the last tick; both are the time of
	// creation if the archive is Empty.
	From, To int64
	// Last is when the last tick was read, on the clock that is never set. Where the wall clock
	// was set back, To may be a later wall clock than Last's. Zero if the archive is Empty.
	Last metric.Stamp
	// Since and Until are the wall clocks between which an archive that is a part of others
	// holds what was recorded; 0 for an end that was not cut. See Begin.
	Since, Until int64
	Live         bool
	Empty        bool // holds no ticks
	Bytes        int64
	// Intervals are the effective intervals of the classes.
	Intervals metric.Intervals
	// Step is how long the steps of a reduced archive are, in nanoseconds; 0 for all others. Of
	// are the archives that it was made from.
	Step int64
	Of   []string
	// Damage lists what could not be read, one sentence each.
	Damage []string
}
