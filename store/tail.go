package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/journal"
)

// A tail is what the journal of a live archive holds beyond what has been
// sealed, as a reader beside the writer sees it.
//
// The journal files are opened before the archive's newest transaction is
// looked at. The writer removes a journal file only after the transaction that
// holds all of it, so whatever is not found in the files is found there; and
// what is in both is told apart by the sequence numbers.
type tail struct {
	path     string
	files    []*tailFile
	sealed   uint64 // what the builders do not hold because the archive does
	seq      uint64 // the last record taken in
	builders [metric.NumClasses]*chunk.Builder
	events   []metric.Event
	descs    []*metric.Desc
	conf     *journal.Config
	insts    map[string]*metric.Instance
}

// tailFile is one generation of the journal.
type tailFile struct {
	generation uint64
	file       *os.File
	reader     *journal.Reader // nil while the file has no header
	foreign    bool
	told       bool // that its end is missing
}

// openTail opens the journal files of a live archive.
func (a *archive) openTail() {
	if !strings.HasSuffix(a.info.Path, liveSuffix) {
		return
	}
	a.closeTail()
	a.tail = &tail{path: a.info.Path, insts: make(map[string]*metric.Instance)}
	if err := a.tail.open(); err != nil {
		a.hurt(err)
	}
}

// open opens the generations that are new since the last time.
func (t *tail) open() error {
	entries, err := os.ReadDir(filepath.Dir(t.path))
	if err != nil {
		return fmt.Errorf("store: the journal of %s cannot be looked for: %w", t.path, err)
	}
	var errs []error
	for _, e := range entries {
		live, generation, ok := parseJournalName(e.Name())
		if !ok || live != filepath.Base(t.path) || t.has(generation) {
			continue
		}
		f, err := disk.OpenNoFollow(journalName(t.path, generation), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed and removed meanwhile
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("store: journal: %w", err))
			continue
		}
		t.files = append(t.files, &tailFile{generation: generation, file: f})
	}
	slices.SortFunc(t.files, func(a, b *tailFile) int { return int(a.generation) - int(b.generation) })
	return errors.Join(errs...)
}

func (t *tail) has(generation uint64) bool {
	return slices.ContainsFunc(t.files, func(f *tailFile) bool { return f.generation == generation })
}

func (a *archive) closeTail() {
	if a.tail == nil {
		return
	}
	for _, f := range a.tail.files {
		_ = f.file.Close()
	}
	a.tail = nil
}

// readTail takes in what the journal holds by now.
func (a *archive) readTail() error {
	t := a.tail
	if t == nil || !a.info.Live {
		return nil
	}
	b, err := a.record(bucketMeta, []byte(metaJournal))
	if err != nil {
		return err
	}
	var p progress
	if b == nil && len(t.files) == 0 {
		return nil // it never had a journal
	}
	if b == nil {
		return fmt.Errorf("store: %s does not say how much of its journal it holds; the journal is left out", t.path)
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("store: %s does not say how much of its journal it holds: %w", t.path, err)
	}
	first := t.seq == 0
	if first {
		t.sealed, t.seq = p.Sealed, p.Sealed
	} else if err := t.open(); err != nil {
		a.hurt(err)
	}
	seq := t.seq
	complete := completer{known: make(map[string]*metric.Desc)}
	for _, d := range a.descs {
		if d != nil {
			complete.known[d.Name] = d
		}
	}
	for i, f := range t.files {
		read := func() error { return t.readFile(f, a.info.ID, &complete) }
		if err := read(); err != nil {
			a.hurt(err)
		}
		if err := f.end(i+1 < len(t.files), read); err != nil {
			a.hurt(err)
		}
	}
	if seq == t.seq && !first {
		return nil
	}
	if t.conf != nil {
		a.info.Config = t.conf.Text
		a.info.Intervals = nanoseconds(t.conf.Intervals)
	}
	var bs []*chunk.Builder
	for _, b := range t.builders {
		if b != nil {
			bs = append(bs, b)
		}
	}
	return a.setTail(bs, t.events)
}

// readFile takes in the records of f that are new.
func (t *tail) readFile(f *tailFile, id string, complete *completer) error {
	if f.foreign {
		return nil
	}
	var hole error
	if f.reader == nil {
		r, err := journal.NewReader(f.file, t.intern)
		if errors.Is(err, io.EOF) {
			return nil // no record of it is there yet
		}
		if err == nil && r.Header().Archive != id {
			err = errors.New("it belongs to another archive")
		}
		if err != nil {
			f.foreign = true
			return fmt.Errorf("store: journal %s: %w", f.file.Name(), err)
		}
		f.reader = r
		if base := r.Header().Base; base > t.seq {
			hole = fmt.Errorf("store: journal %s: the %d records before it are missing", f.file.Name(), base-t.seq)
		}
	}
	for {
		rec, err := f.reader.Next()
		if errors.Is(err, io.EOF) {
			return hole
		}
		if err != nil {
			f.foreign = true
			return fmt.Errorf("store: journal %s: %w", f.file.Name(), err)
		}
		if rec.Seq <= t.seq {
			continue
		}
		t.seq = rec.Seq
		switch rec.Kind {
		case journal.KindTick:
			complete.tick(rec.Tick)
			b := t.builders[rec.Tick.Class]
			if b == nil {
				b = chunk.NewBuilder(rec.Tick.Class)
				t.builders[rec.Tick.Class] = b
			}
			if err := b.Append(rec.Tick); err != nil {
				return fmt.Errorf("store: journal %s: record %d: %w", f.file.Name(), rec.Seq, err)
			}
		case journal.KindEvent:
			t.events = append(t.events, *rec.Event)
		case journal.KindDescribe:
			t.descs = append(t.descs, rec.Descs...)
			complete.learn(rec.Descs)
		case journal.KindConfig:
			t.conf = rec.Conf
		}
	}
}

// offset is up to where f has been read.
func (f *tailFile) offset() int64 {
	if f.reader == nil {
		return 0
	}
	return f.reader.Offset()
}

// end tells what lies behind the last sound record of f. Of the present
// generation that may be a record that is just being written, which read would
// take in when it is whole.
func (f *tailFile) end(old bool, read func() error) error {
	var rest, size int64
	for still := 0; still < 3; {
		if f.foreign || f.told {
			return nil
		}
		st, err := f.file.Stat()
		if err != nil {
			return fmt.Errorf("store: journal: %w", err)
		}
		size = st.Size()
		at := f.offset()
		if rest = size - at; rest <= 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
		if err := read(); err != nil {
			return err
		}
		if still++; f.offset() != at {
			still = 0
		}
	}
	f.told = true
	if f.reader == nil {
		return fmt.Errorf("store: journal %s: its beginning is damaged or was never written whole", f.file.Name())
	}
	if !old && f.reader.CutShort(size) {
		return fmt.Errorf("store: journal %s: its last record is cut short, as by a crash", f.file.Name())
	}
	return fmt.Errorf("store: journal %s: %d bytes from byte %d on are damaged", f.file.Name(), rest, f.reader.Offset())
}

func (t *tail) intern(indom, key string) *metric.Instance {
	return internIn(t.insts, indom, key)
}

// internIn returns the one instance with that key, making it if need be.
func internIn(insts map[string]*metric.Instance, indom, key string) *metric.Instance {
	k := indom + "\x00" + key
	in := insts[k]
	if in == nil {
		in = &metric.Instance{ID: uint64(len(insts)) + 1, Key: key}
		insts[k] = in
	}
	return in
}

// A completer gives the metrics of journalled ticks the descriptions that the
// catalogue has for them: the journal leaves out what values do not need.
type completer struct {
	known map[string]*metric.Desc
	done  map[*metric.Group]bool
}

func (c *completer) learn(ds []*metric.Desc) {
	for _, d := range ds {
		c.known[d.Name] = d
	}
}

func (c *completer) tick(t *metric.Tick) {
	for _, b := range t.Blocks {
		if c.done[b.Group] {
			continue
		}
		if c.done == nil {
			c.done = make(map[*metric.Group]bool)
		}
		c.done[b.Group] = true
		for i, d := range b.Group.Metrics {
			k := c.known[d.Name]
			if k != nil && k.Type == d.Type && k.Sem == d.Sem && k.Units == d.Units && k.Indom == d.Indom &&
				k.Class == d.Class && k.Width == d.Width && k.Clamped == d.Clamped {
				b.Group.Metrics[i] = k
			}
		}
	}
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
