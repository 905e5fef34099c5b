package rewrite

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// About holds an archive's facts about itself.
type About struct {
	Host      metric.Host
	Boot      string
	TimeZone  string
	Recorder  string // version of the program that recorded it
	Config    string // TOML
	Intervals metric.Intervals
	ID        string // a new one if it is empty
	Created   int64  // wall clock; that of the first tick if it is 0
	// Catalog are the metrics to describe even if they have no values.
	Catalog []*metric.Desc
	// Reduced is set for an archive of steps; longer steps make longer chunks.
	Reduced *layout.Reduction
}

// A Writer makes a finished archive of ticks and events. Its use of memory does not grow with
// the amount of data.
type Writer struct {
	path, scratch string
	about         About
	since, until  int64 // the wall clocks of the window, if this is a part of other archives
	db            *bbolt.DB
	mu            sync.Mutex // guards all fields below except classes; several goroutines may append, each to its own class
	cat           *layout.Catalog
	digests       *layout.Digests
	totals        layout.Totals
	classes       [metric.NumClasses]classWriter
	chunks        []*chunk.Sealed // waiting to be written
	size          int64           // of chunks, in bytes
	events        [2][]metric.Event
	full          [][]metric.Event // batches waiting to be written
	begun         bool             // a transaction has been written
	err           error            // the first error; nothing is written after it

	ticks, values, counted uint64 // ticks and values that were put, events that were counted
}

// A classWriter collects the ticks of a class.
type classWriter struct {
	builder *chunk.Builder
	last    metric.Stamp
	any     bool
	checked int64   // the builder's number of values when its memory was last looked at
	packing float64 // bytes of a chunk per byte of the builder's memory, from the last chunk
	// held are chunks that may be merged with the ones after them: chunks that were taken from
	// elsewhere, and those built between them.
	held []*chunk.Sealed
}

const (
	// batchSize is how much one transaction writes: bbolt keeps all of it in memory.
	batchSize = 2 << 20
	// builderMemory is how much memory a builder may take.
	builderMemory = 24 << 20
	// checkEvery is after how many values a builder's memory is looked at.
	checkEvery = 1 << 15
	// firstPacking is the packing assumed before the first chunk of a class.
	firstPacking = 0.15
)

// Create starts a new archive at path, which must not exist.
func Create(path string, about About) (*Writer, error) {
	w := &Writer{path: path, scratch: path + layout.TmpSuffix, about: about, cat: layout.NewCatalog(nil)}
	w.digests = layout.NewDigests(w.cat.Desc)
	if _, err := os.Lstat(path); err == nil {
		return nil, exists(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "create archive", Path: path, Err: err}
	}
	if w.about.ID == "" {
		id := make([]byte, 8)
		_, _ = rand.Read(id) // never fails
		w.about.ID = hex.EncodeToString(id)
	}
	for _, d := range about.Catalog {
		w.cat.Number(d)
	}
	for c := range w.classes {
		w.classes[c].packing = firstPacking
	}
	if err := os.Remove(w.scratch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "create archive", Path: path, Err: err}
	}
	db, err := disk.OS.OpenBolt(w.scratch, fileMode, bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true})
	if err != nil {
		_ = os.Remove(w.scratch) // On a full disk it exists, and is empty.
		return nil, &fault.Error{Op: "create archive", Path: path, Err: err}
	}
	db.AllocSize = 1 << 20
	w.db = db
	return w, nil
}

// fileMode is the mode of archives: their contents are not for every user.
const fileMode = 0o640

func exists(path string) error {
	return &fault.Error{Op: "create archive", Path: path, Kind: fault.Exists, Err: errors.New("it exists already, and nothing is written over; name another file or remove it")}
}

// Append adds a tick, and keeps no reference to it. The ticks of a class must come in the order
// of the continuous clock.
func (w *Writer) Append(t *metric.Tick) error {
	if err := w.failed(); err != nil {
		return err
	}
	if t.Class >= metric.NumClasses {
		return fmt.Errorf("a tick of class %d, which archives do not have", t.Class)
	}
	c := &w.classes[t.Class]
	if c.any && t.At.Cont <= c.last.Cont {
		return fmt.Errorf("a tick of class %v of %s comes after one of %s: ticks of a class are appended in the order in which they were read", t.Class, fault.UTC(t.At.Wall), fault.UTC(c.last.Wall))
	}
	if c.builder == nil {
		c.builder = chunk.NewBuilder(t.Class)
	}
	if c.full(t, w.span()) {
		if err := w.seal(c, true); err != nil {
			return err
		}
	}
	if err := c.builder.Append(t); err != nil {
		return err
	}
	c.last, c.any = t.At, true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began(t.At.Wall)
	return nil
}

// began notes a time at which something was recorded.
func (w *Writer) began(wall int64) {
	if w.about.Created == 0 {
		w.about.Created = wall
	}
}

// stepsTogether is how many steps a chunk of a reduced archive covers: as many ticks as an hour
// of readings each second would be months.
const stepsTogether = 1440

// span returns the longest time that a chunk may cover.
func (w *Writer) span() int64 {
	if r := w.about.Reduced; r != nil {
		return max(archive.MergeSpan, min(stepsTogether*r.Step, 31*24*archive.MergeSpan))
	}
	return archive.MergeSpan
}

// full reports whether the chunk that is being built is large enough.
func (c *classWriter) full(next *metric.Tick, span int64) bool {
	b := c.builder
	if b.Ticks() == 0 {
		return false
	}
	if next.At.Cont-b.First().Cont > span || b.Ticks() >= chunk.MaxTicks || b.Values() > archive.MergeValues {
		return true
	}
	if b.Values()-c.checked < checkEvery {
		return false
	}
	c.checked = b.Values()
	memory := b.Memory()
	return memory > builderMemory || float64(memory)*c.packing > archive.MergeSize
}

// seal makes a chunk of what has been collected in a class; full means that the chunk is as
// large as a chunk should be.
func (w *Writer) seal(c *classWriter, full bool) error {
	if c.builder == nil || c.builder.Ticks() == 0 {
		return nil
	}
	s, err := c.builder.Seal(w.number)
	if err != nil {
		return w.fail(err)
	}
	if m := c.builder.Memory(); m > 0 {
		c.packing = float64(s.Info.Size) / float64(m)
	}
	c.builder.Reset()
	c.checked = 0
	if full && len(c.held) == 0 {
		return w.put(s)
	}
	return w.hold(c, s)
}

// take adds a chunk unchanged. Its metrics must have the numbers that they have in w.
func (w *Writer) take(s *chunk.Sealed) error {
	if err := w.failed(); err != nil {
		return err
	}
	c := &w.classes[s.Info.Class]
	if c.any && s.Info.First.Cont <= c.last.Cont {
		return fmt.Errorf("a chunk of class %v of %s comes after a tick of %s", s.Info.Class, fault.UTC(s.Info.From), fault.UTC(c.last.Wall))
	}
	if err := w.seal(c, false); err != nil {
		return err
	}
	c.last, c.any = s.Info.Last, true
	w.mu.Lock()
	w.began(s.Info.First.Wall)
	w.mu.Unlock()
	return w.hold(c, s)
}

// hold adds a chunk that may be merged with others.
func (w *Writer) hold(c *classWriter, s *chunk.Sealed) error {
	if len(c.held) > 0 && archive.Together(append(c.held, s)) <= len(c.held) {
		if err := w.release(c); err != nil {
			return err
		}
	}
	c.held = append(c.held, s)
	return nil
}

// end puts everything that is left of a class.
func (w *Writer) end(c *classWriter) error {
	if err := w.seal(c, len(c.held) == 0); err != nil {
		return err
	}
	return w.release(c)
}

// release merges and puts the held chunks of a class.
func (w *Writer) release(c *classWriter) error {
	if len(c.held) == 0 {
		return nil
	}
	s, err := archive.Merge(c.held, w.desc)
	if err != nil {
		return w.fail(err)
	}
	c.held = nil
	return w.put(s)
}

func (w *Writer) number(d *metric.Desc) uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cat.Number(d)
}

func (w *Writer) desc(n uint32) *metric.Desc {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cat.Desc(n)
}

// put adds a chunk, which follows the chunks of its class.
func (w *Writer) put(s *chunk.Sealed) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chunks = append(w.chunks, s)
	w.ticks += s.Info.Ticks
	w.values += s.Info.Values
	if w.size += s.Info.Size; w.size < batchSize {
		return nil
	}
	return w.flush(false)
}

// Event adds an event. Starts and ends of processes must come in the order of time, and so must
// all other events.
func (w *Writer) Event(e *metric.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.counted++
	kind := 0
	if layout.IsChurn(e.Kind) {
		kind = 1
	}
	w.events[kind] = append(w.events[kind], *e)
	w.began(e.At.Wall)
	if len(w.events[kind]) < layout.EventBatch {
		return nil
	}
	w.full = append(w.full, w.events[kind])
	w.events[kind] = nil
	if w.size += eventsSize; w.size < batchSize {
		return nil
	}
	return w.flush(false)
}

// eventsSize is about how much memory a batch of events takes; it takes less in the file.
const eventsSize = 1 << 20

// failed returns the error that everything ended with, or nil.
func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fail ends everything. The lock must not be held.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broke(err)
}

func (w *Writer) broke(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.path, err)
	}
	return w.err
}

// flush writes what waits, in one transaction. The lock must be held.
func (w *Writer) flush(last bool) error {
	if w.err != nil {
		return w.err
	}
	// Chunks that come in several transactions are stored apart: see archive.Compact.
	put := (*layout.Builder).ChunkApart
	if last && !w.begun {
		put = (*layout.Builder).Chunk
	}
	err := disk.Contain(func() error {
		return w.db.Update(layout.Build(&w.totals, func(b *layout.Builder) {
			if !w.begun {
				b.Create(w.header())
				b.Settings(w.about.Config, w.about.Intervals)
			}
			if w.about.Reduced == nil { // There are few steps, and digests know no companions.
				b.Digest(w.digests)
			}
			for _, s := range w.chunks {
				put(b, s)
			}
			for _, events := range w.full {
				b.Events(slices.Values(events))
			}
			if last {
				for _, events := range w.events {
					b.Events(slices.Values(events))
				}
				b.Descs(0, w.cat.Descs)
				b.Finish()
			}
		}))
	})
	if err != nil {
		return w.broke(err)
	}
	w.begun, w.chunks, w.full, w.size = true, nil, nil, 0
	return nil
}

func (w *Writer) header() *layout.Header {
	a := &w.about
	if a.Created == 0 {
		a.Created = time.Now().UnixNano()
	}
	return &layout.Header{Format: layout.FormatVersion, ID: a.ID, Host: a.Host, BootID: a.Boot, TimeZone: a.TimeZone, Recorder: a.Recorder, Created: a.Created, Reduced: a.Reduced, Since: w.since, Until: w.until}
}

// Finish completes the archive and gives it its name. After an error nothing is left, unless only the
// directory could not be synced: then the whole archive has its name.
func (w *Writer) Finish() (err error) {
	defer w.Abort()
	for i := range w.classes {
		if err := w.end(&w.classes[i]); err != nil {
			return err
		}
	}
	w.mu.Lock()
	err = w.flush(true)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	var size int64
	if err := w.db.View(func(tx *bbolt.Tx) error { size = tx.Size(); return nil }); err != nil {
		return w.fail(err)
	}
	db := w.db
	w.db = nil
	if err := db.Close(); err != nil {
		return w.fail(err)
	}
	if err := publish(w.scratch, w.path, size); err != nil {
		return w.fail(err)
	}
	return nil
}

// Abort removes all that was written. After Finish it does nothing.
func (w *Writer) Abort() {
	if w.db != nil {
		_ = w.db.Close()
		w.db = nil
	}
	_ = w.fail(fs.ErrClosed)
	_ = os.Remove(w.scratch)
}

// publish cuts a scratch file to its size, makes it safe from a power cut, and gives it its
// name, which no file has yet.
func publish(scratch, path string, size int64) error {
	f, err := disk.OpenNoFollow(scratch, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = errors.Join(f.Truncate(size), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := rename(scratch, path); err != nil {
		return err
	}
	return disk.OS.SyncDir(filepath.Dir(path))
}

// rename renames a file unless the new name exists. On file systems without hard links it checks
// that first.
func rename(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return exists(to)
	}
	if _, err := os.Lstat(to); err == nil {
		return exists(to)
	}
	return os.Rename(from, to)
}
