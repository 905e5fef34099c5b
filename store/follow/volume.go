package follow

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/gather"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// A volume is the archive being read: first the content of its file, then for a live archive
// what its journal holds beyond that, generation by generation.
type volume struct {
	f    *Follower
	path string
	head layout.Header
	info *archive.Info // as delivered

	file  *archive.File
	known gather.Known   // descriptions of its metrics
	drain *archive.Drain // yields what is to be delivered from file; nil if nothing is

	journal journal.Follower
	gens    []*generation // from the one that is being read on
	idle    disk.File     // the archive's own file, while it is live and has no journal
	rotated bool          // the last record says that another archive continues
	told    map[string]bool

	// How many events of each stream there are before what is read next.
	churn, events uint64
	any           bool // something was recorded before it

	tick   metric.Tick    // the delivered form of the journal's tick
	blocks []metric.Block // its blocks
}

// A generation is a file of the journal.
type generation struct {
	journal.Generation
	file   disk.File
	path   string
	groups map[*metric.Group]*metric.Group // by the decoder's groups, the delivered ones
	begun  bool                            // its beginning was compared with what came before
}

// open opens the archive b: its file, and its journal if it has one.
func (f *Follower) open(b *book) (*volume, error) {
	v := &volume{f: f, path: b.path, head: *b.head, told: make(map[string]bool)}
	f.same.Enter(b.head.Host.ID + "\x00" + b.head.BootID)
	if err := v.load(); err != nil {
		v.close()
		return nil, err
	}
	info := v.file.Info
	info.Damage = nil
	v.info = &info
	f.shelf.open(b.head.ID)
	return v, nil
}

func (v *volume) close() {
	v.closeJournal()
	if v.file != nil {
		_ = v.file.Close()
		v.file = nil
	}
	v.drain = nil
}

func (v *volume) closeJournal() {
	v.f.wake.watchFile(nil)
	for _, g := range v.gens {
		_ = g.file.Close()
	}
	if v.idle != nil {
		_ = v.idle.Close()
	}
	v.gens, v.idle = nil, nil
}

// load reads everything but chunks and events again. The position says what has been delivered.
// The journal's files are opened before the archive's newest transaction is looked at: the
// writer removes one only after the transaction that holds all of it.
func (v *volume) load() error {
	for try := 1; ; try++ {
		v.closeJournal()
		v.drain = nil
		err := v.loadOnce()
		if try == archive.LoadTries || v.file == nil || v.file.Snap == nil {
			return err
		}
		if changed, e := v.file.Snap.Changed(); e != nil || !changed {
			return err
		}
	}
}

func (v *volume) loadOnce() error {
	file, err := archive.OpenUnread(v.path)
	gone := err != nil
	switch {
	case err == nil:
		if v.file != nil {
			_ = v.file.Close()
		}
		v.file = file
	case errors.Is(err, fs.ErrNotExist) && v.file != nil:
		// It was removed, or finished under another name, and the open file holds all of it.
		file = v.file
		file.Forgive()
	default:
		return err
	}
	if layout.IsLiveName(v.path) && !gone {
		if err := v.openJournal(); err != nil {
			return err
		}
	}
	if err := fault.Contain(file.Load); err != nil {
		return err
	}
	if file.Info.ID != v.head.ID {
		return fmt.Errorf("%s: another archive stands in its place", v.path)
	}
	v.known = make(gather.Known)
	v.known.Learn(file.Descs)
	if file.Info.Live && !gone {
		v.joinJournal()
	} else {
		v.closeJournal()
	}
	v.count()
	return nil
}

// openJournal opens the existing generations.
func (v *volume) openJournal() error {
	entries, err := os.ReadDir(filepath.Dir(v.path))
	if err != nil {
		return fmt.Errorf("the journal of %s cannot be looked for: %w", v.path, err)
	}
	for _, e := range entries {
		live, n, ok := layout.ParseJournalName(e.Name())
		if ok && live == filepath.Base(v.path) {
			if err := v.openGeneration(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				v.wrong(fmt.Errorf("journal: %w", err))
			}
		}
	}
	slices.SortFunc(v.gens, byNumber)
	return nil
}

func byNumber(a, b *generation) int { return cmp.Compare(a.Number, b.Number) }

func (v *volume) openGeneration(n uint64) error {
	path := layout.JournalName(v.path, n)
	file, err := disk.OS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	for _, g := range v.gens {
		g.Old = true
	}
	v.gens = append(v.gens, &generation{
		Generation: journal.Generation{File: file, Number: n, Intern: v.f.same.Intern},
		file:       file, path: path, groups: make(map[*metric.Group]*metric.Group),
	})
	return nil
}

// joinJournal adds what the journal holds beyond the file: generations that a later one has a
// copy of become part of the file, and the others wait to be read.
func (v *volume) joinJournal() {
	p := v.file.Progress
	if p == nil {
		if len(v.gens) > 0 {
			v.wrong(fmt.Errorf("%s does not say how much of its journal it holds; the journal is left out", v.path))
		}
		v.closeJournal()
		return
	}
	v.gens = slices.DeleteFunc(v.gens, func(g *generation) bool {
		if g.Number < p.Generation {
			_ = g.file.Close() // all of it is in the archive
			return true
		}
		return false
	})
	if p.Generation > 0 && (len(v.gens) == 0 || v.gens[0].Number != p.Generation) {
		// It may have been begun since the directory was listed.
		if v.openGeneration(p.Generation) != nil {
			v.wrong(p.Missing(v.path, v.file.Last(), len(v.gens) > 0))
		}
		slices.SortFunc(v.gens, byNumber)
	}
	v.journal = journal.Follower{Archive: v.head.ID, Counted: true, Seq: p.Sealed, Last: v.file.Last(), First: p.Generation, Live: true}
	all := make([]*journal.Generation, len(v.gens))
	for i, g := range v.gens {
		all[i], g.Old = &g.Generation, i+1 < len(v.gens)
	}
	var beside []*archive.Beside
	var events []metric.Event
	n := 0
	for i, c := range v.journal.Copies(all) {
		if c == nil || i != n {
			break
		}
		chunks, more, err := gather.ParseCopy(c.Data)
		if err != nil {
			break // reading the generation itself gives the error
		}
		last := int64(0)
		for _, s := range chunks {
			last = max(last, s.Info.Last.Wall)
			beside = append(beside, &archive.Beside{Info: s.Info, Data: s.Data})
		}
		events = append(events, more...)
		all[i].Skip(c, last)
		if hole := v.journal.Missing(all[i]); hole != nil {
			v.wrong(fmt.Errorf("journal %s: %w", v.gens[i].path, hole))
		}
		n++
	}
	for _, g := range v.gens[:n] {
		_ = g.file.Close()
	}
	v.gens = v.gens[n:]
	v.file.SetTail(&layout.Catalog{Descs: v.file.Descs}, beside, events)
}

// count counts what the file holds.
func (v *volume) count() {
	v.churn, v.events = 0, 0
	for i := range v.file.Events {
		churn, events := v.file.Events[i].Count(v.file)
		v.churn, v.events = v.churn+churn, v.events+events
	}
	v.any = len(v.file.Chunks) > 0 || v.churn+v.events > 0
}

// wrong reports an error once.
func (v *volume) wrong(err error) {
	text := err.Error()
	if !v.told[text] {
		v.told[text] = true
		v.f.lose(err)
	}
}

// begin prepares to deliver what comes after the position.
func (v *volume) begin() {
	for _, text := range v.file.Info.Damage {
		v.wrong(&fault.Error{Path: v.path, Kind: fault.Damaged, Err: errors.New(text)})
	}
	v.drain = archive.NewDrain(v.draining())
	v.watch()
}

// draining returns what to take from the file: everything after the position.
func (v *volume) draining() *archive.Draining {
	pos := &v.f.pos
	return &archive.Draining{
		File: v.file, Info: v.info, Same: &v.f.same,
		After:  func(c metric.Class) int64 { return pos.Ticks[c] },
		Chunk:  func(in *chunk.Info) bool { return v.f.want[in.Class] },
		Pass:   func(c metric.Class, at metric.Stamp, _ *metric.Stamp) bool { return v.passes(c, at) },
		Churn:  &pos.Churn,
		Events: &pos.Events,
	}
}

// watch watches the file that is being written to, or the file whose next write shows that
// recording goes on.
func (v *volume) watch() {
	switch n := len(v.gens); {
	case n > 0:
		v.f.wake.watchFile(v.gens[n-1].file)
	case v.file.Info.Live && v.idle == nil:
		if f, err := disk.OS.OpenFile(v.path, os.O_RDONLY, 0); err == nil {
			v.idle = f
			v.f.wake.watchFile(f)
		}
	}
}

// next returns the next item, if there is one by now.
func (v *volume) next() (archive.Item, bool) {
	for len(v.f.queue) == 0 {
		if v.drain != nil {
			next, ok := v.drain.Next()
			switch {
			case !ok:
				v.drained()
			case next.Lost != nil:
				v.wrong(next.Lost)
			default:
				return archive.Item{Archive: v.info, Tick: next.Tick, Event: next.Event}, true
			}
			continue
		}
		rec := v.record()
		if rec == nil {
			if v.drain != nil {
				continue // the archive was read again
			}
			v.reckon()
			return archive.Item{}, false
		}
		if it, ok := v.take(rec); ok {
			it.Archive = v.info
			return it, true
		}
	}
	return archive.Item{}, false
}

// reckon lowers the counts of a position that exceed the events there are, as after a loss of
// events.
func (v *volume) reckon() {
	pos := &v.f.pos
	pos.Churn, pos.Events = min(pos.Churn, v.churn), min(pos.Events, v.events)
}

// drained goes on from the file to the journal, or to what has been committed meanwhile.
func (v *volume) drained() {
	pos := &v.f.pos
	pos.Churn, pos.Events = max(pos.Churn, v.churn), max(pos.Events, v.events)
	for class := range v.f.want {
		if !v.f.want[class] {
			pos.Ticks[class] = max(pos.Ticks[class], v.last(metric.Class(class)))
		}
	}
	v.drain = nil
	if v.file.Info.Live && v.changed() {
		v.reload()
	}
}

// changed reports whether more has been committed than v has read.
func (v *volume) changed() bool {
	changed, err := v.file.Snap.Changed()
	return err == nil && changed
}

// last returns the continuous clock of the last tick of a class in the file.
func (v *volume) last(class metric.Class) (cont int64) {
	for _, r := range v.file.Chunks {
		if r.Info.Class == class {
			cont = max(cont, r.Info.Last.Cont)
		}
	}
	return cont
}

// reload reads the archive again, which holds more by now, and goes on after the position.
func (v *volume) reload() {
	if err := v.load(); err != nil {
		v.f.away = true
		return
	}
	v.begin()
}
