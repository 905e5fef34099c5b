package mend

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// A RepairReport says what Repair kept and what was lost.
type RepairReport struct {
	Source, Path string
	// ID is the ID of the archive and of the repaired one.
	ID string
	// Chunks were copied whole, Rescued chunks in part; Journal is how many ticks came from
	// journals.
	Chunks, Rescued, Journal int
	Ticks, Values            uint64
	Events                   int
	Lost                     []fault.Loss
	// Damage lists the damage that was found, whether it cost anything or not.
	Damage []string
}

// Repair makes at dst, which must not exist, the best archive that the damaged archive at src
// and the journals beside it allow. If src itself is gone, its journals suffice. src is not
// changed.
func Repair(src, dst string, progress func(done, total int64)) (*RepairReport, error) {
	if _, err := os.Lstat(dst); err == nil {
		return nil, &fault.Error{Op: "repair", Path: dst, Kind: fault.Exists, Err: errors.New("it exists: choose another name")}
	}
	r := &repair{salvage: newSalvage(), report: &RepairReport{Source: src, Path: dst}}
	files, err := layout.FilesAt(src)
	if errors.Is(err, fs.ErrNotExist) {
		files, err = layout.JournalsOf(src)
		if err == nil && len(files) == 0 {
			err = &fault.Error{Op: "repair", Path: src, Err: syscall.ENOENT}
		}
	} else if _, isBundle, _ := layout.BundleAt(src); isBundle {
		err = &fault.Error{Op: "repair", Path: src, Kind: fault.NotArchive,
			Err: fmt.Errorf("it is a bundle of archives: repair those that are damaged one by one, such as %s", files[0])}
	} else if err == nil && files[0] != src {
		err = &fault.Error{Op: "repair", Path: src, Kind: fault.NotArchive, Err: errors.New("it is a directory: name one archive in it")}
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := r.read(f, progress); err != nil {
			return nil, err
		}
	}
	defer func() {
		for _, f := range r.open {
			f.Close()
		}
	}()
	r.assemble()
	if len(r.rebuilt) == 0 && len(r.allEvents) == 0 {
		if r.foreign() {
			return nil, &fault.Error{Path: src, Kind: fault.NotArchive, Err: layout.ErrForeign}
		}
		why := r.damage
		for _, l := range r.report.Lost {
			why = append(why, "lost is "+l.String())
		}
		return nil, fmt.Errorf("repair: nothing can be read from %s: %s", src, strings.Join(why, "; "))
	}
	if err := r.write(dst); err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	r.report.Damage = r.damage
	return r.report, nil
}

type repair struct {
	*salvage
	report   *RepairReport
	open     []*layout.File // the files that sections read from
	journals []*layout.File
	rebuilt  []*rebuilt
	byClass  map[metric.Class][]*rebuilt // chunks that are kept
	// journalled holds the continuous clocks of the ticks in the journals.
	journalled map[metric.Class][]int64
	cat        *layout.Catalog
	allEvents  []metric.Event
}

// rebuilt is a chunk of the new archive.
type rebuilt struct {
	key    string // key of the original chunk; empty if it came from a journal
	sealed *chunk.Sealed
	whole  bool
}

func (r *repair) read(path string, progress func(done, total int64)) error {
	f, err := layout.Open(path)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	r.open = append(r.open, f)
	if layout.IsJournalName(strings.TrimSuffix(filepath.Base(path), layout.DamagedSuffix)) {
		r.journals = append(r.journals, f)
		return nil
	}
	if err := fault.Contain(func() error { return r.collect(f, progress) }); err != nil {
		r.hurt("%s: %v", path, err)
	}
	return nil
}

// foreign reports whether the only file is one that is not an archive.
func (r *repair) foreign() bool {
	if len(r.open) != 1 || len(r.journals) > 0 {
		return false
	}
	_, err := boltread.Open(r.open[0])
	return isForeign(r.open[0], err)
}

// assemble decides what goes into the new archive.
func (r *repair) assemble() {
	if n := r.standIns(); n > 0 {
		r.lose(0, 0, "the descriptions of %d metrics; they are called lost.*", n)
	}
	r.cat = layout.NewCatalog(r.descs)
	r.cat.Stored = 0
	r.byClass = make(map[metric.Class][]*rebuilt)
	var lost []string // keys
	for _, key := range r.keys() {
		s, missing := r.best(key)
		if s == nil {
			lost = append(lost, key)
			continue
		}
		p := &rebuilt{key: key, sealed: s, whole: len(missing) == 0}
		r.rebuilt = append(r.rebuilt, p)
		if p.whole {
			r.report.Chunks++
			r.byClass[s.Info.Class] = append(r.byClass[s.Info.Class], p)
			continue
		}
		r.report.Rescued++
		for _, m := range missing {
			r.lose(s.Info.From, s.Info.To, "class %s: %s", s.Info.Class, m)
		}
	}
	r.gatherEvents()
	r.countJournals()
	r.dropRescued()
	r.readJournals()
	for _, key := range lost {
		r.loseChunk(key)
	}
	r.loseUnlisted()
	slices.SortStableFunc(r.rebuilt, func(a, b *rebuilt) int {
		return cmp.Or(cmp.Compare(a.sealed.Info.Class, b.sealed.Info.Class),
			cmp.Compare(a.sealed.Info.First.Cont, b.sealed.Info.First.Cont))
	})
	for _, p := range r.rebuilt {
		r.report.Ticks += p.sealed.Info.Ticks
		r.report.Values += p.sealed.Info.Values
	}
	slices.SortStableFunc(r.allEvents, func(a, b metric.Event) int { return cmp.Compare(a.At.Cont, b.At.Cont) })
	r.report.Events = len(r.allEvents)
}

func (r *repair) lose(from, to int64, format string, args ...any) {
	l := fault.Loss{What: fmt.Sprintf(format, args...), From: from, To: to}
	if !slices.Contains(r.report.Lost, l) {
		r.report.Lost = append(r.report.Lost, l)
	}
}

// covered reports whether a chunk covers the time cont.
func (r *repair) covered(class metric.Class, cont int64) bool {
	return slices.ContainsFunc(r.byClass[class], func(p *rebuilt) bool {
		return p.sealed.Info.First.Cont <= cont && cont <= p.sealed.Info.Last.Cont
	})
}

// fromJournals counts the ticks of a class that journals hold for a span.
func (r *repair) fromJournals(class metric.Class, from, to int64) uint64 {
	n := uint64(0)
	for _, cont := range r.journalled[class] {
		if from <= cont && cont <= to {
			n++
		}
	}
	return n
}

// dropRescued drops chunks that were rescued in part if the journals hold all their ticks.
func (r *repair) dropRescued() {
	r.rebuilt = slices.DeleteFunc(r.rebuilt, func(p *rebuilt) bool {
		in := p.sealed.Info
		if p.whole {
			return false
		}
		if r.fromJournals(in.Class, in.First.Cont, in.Last.Cont) < in.Ticks {
			r.byClass[in.Class] = append(r.byClass[in.Class], p)
			return false
		}
		r.report.Rescued--
		r.report.Lost = slices.DeleteFunc(r.report.Lost, func(l fault.Loss) bool {
			return l.From == in.From && l.To == in.To && strings.HasPrefix(l.What, "class "+in.Class.String()+":")
		})
		return true
	})
}

// loseChunk reports a chunk of which nothing could be kept.
func (r *repair) loseChunk(key string) {
	class, n, _ := layout.ParseChunkKey([]byte(key))
	in, listed := r.index[key]
	if listed && r.fromJournals(class, in.First.Cont, in.Last.Cont) >= in.Ticks {
		return
	}
	if !listed {
		in.From, in.To = r.around(class, n)
	}
	r.lose(in.From, in.To, "everything of class %s in chunk %d", class, n)
	if listed {
		r.gap(in.Last, in.From, fmt.Sprintf("everything of class %s was lost to damage of the archive", class))
	}
}

// gap adds an event for a stretch of time that was lost, so that no rate is taken across it
// unnoticed.
func (r *repair) gap(at metric.Stamp, from int64, text string) {
	r.allEvents = append(r.allEvents, layout.GapEvent(at, from, at.Wall-from, text))
}

// loseUnlisted reports chunks that have lost even their index entry: their numbers are missing.
func (r *repair) loseUnlisted() {
	next := make(map[metric.Class]uint32)
	for _, key := range r.keys() {
		class, n, _ := layout.ParseChunkKey([]byte(key))
		r.loseNumbers(class, next[class], n)
		next[class] = n + 1
	}
	if r.totals == nil || r.stale {
		r.lose(0, 0, "the count of chunks and events: whether the last ones are missing cannot be told")
	}
	if r.totals == nil {
		return
	}
	for class := range metric.NumClasses {
		r.loseNumbers(class, next[class], r.totals.Chunks[class.String()])
	}
}

// loseNumbers reports the chunks of a class from number n up to end. A count too large for any
// archive is not gone through one by one.
func (r *repair) loseNumbers(class metric.Class, n, end uint32) {
	const most = 1 << 12
	if end > n && end-n > most {
		from, to := r.around(class, n)
		r.lose(from, to, "chunks %d to %d of class %s, if there were so many", n, end-1, class)
		return
	}
	for ; n < end; n++ {
		r.loseChunk(string(layout.ChunkKey(class, n)))
	}
}

// around returns the time between the chunks before and after number n of a class; zero if there
// is none.
func (r *repair) around(class metric.Class, n uint32) (from, to int64) {
	for key, in := range r.index {
		c, k, _ := layout.ParseChunkKey([]byte(key))
		switch {
		case c != class:
		case k < n && (from == 0 || in.To > from):
			from = in.To
		case k > n && (to == 0 || in.From < to):
			to = in.From
		}
	}
	return from, to
}

// gatherEvents puts the batches in order and reports the missing ones.
func (r *repair) gatherEvents() {
	var ns []uint32
	for n := range r.events {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	next := uint32(0)
	last := int64(0)
	for _, n := range ns {
		es := r.events[n]
		if n > next && len(es) > 0 {
			r.lose(last, es[0].At.Wall, "%d batches of events", n-next)
		}
		next = n + 1
		r.allEvents = append(r.allEvents, es...)
		if len(es) > 0 {
			last = es[len(es)-1].At.Wall
		}
	}
	if r.totals != nil && next < r.totals.Events {
		r.lose(last, 0, "%d batches of events after", r.totals.Events-next)
	}
}
