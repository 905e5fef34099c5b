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
	if b == nil {
		return nil // it never had a journal
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
	for _, f := range t.files {
		if err := t.readFile(f, a.info.ID, &complete); err != nil {
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
	if f.reader == nil {
		r, err := journal.NewReader(f.file, t.intern)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && r.Header().Archive != id {
			err = errors.New("it belongs to another archive")
		}
		if err != nil {
			f.foreign = true
			return fmt.Errorf("store: journal %s: %w", f.file.Name(), err)
		}
		f.reader = r
	}
	for {
		rec, err := f.reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
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
