package reduce

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// A folder makes the ticks of one class, one for each step. Stretches of ticks that belong to
// one step, without a break among them, are its segments.
type folder struct {
	r      *reducer
	class  metric.Class
	step   int64
	file   *archive.File
	breaks []break_
	groups map[[2]string]*group
	order  []*group // in the order in which they came

	seg      int // the number of the present segment
	number   int64
	last     metric.Stamp // tick
	any      bool
	fresh    bool                 // the next tick begins a segment, whatever its step is
	segEnds  map[int]metric.Stamp // by segment: its last tick so far
	openFrom int64                // when the present segment began, by the continuous clock
	pending  []pending
	began    *metric.Group // the group with the metrics reduced.began and reduced.readings
	steps    map[string]*metric.Instance
}

// A break_ is an event between two readings that nothing is carried across.
type break_ struct{ wall, cont int64 }

// A pending block waits for its tick.
type pending struct {
	tick     metric.Stamp
	block    *metric.Block
	began    int64 // how long before the block its first reading was
	readings uint64
}

func newFolder(r *reducer, class metric.Class) *folder {
	f := &folder{r: r, class: class, step: int64(r.opt.Step), groups: make(map[[2]string]*group), segEnds: make(map[int]metric.Stamp), steps: make(map[string]*metric.Instance)}
	f.began = &metric.Group{Name: layout.StepGroup, Indom: layout.StepIndom, Metrics: []*metric.Desc{
		r.desc(metric.Desc{Name: layout.BeganMetric, Type: metric.U64, Sem: metric.Instant, Units: metric.Units{Time: 1}, Indom: layout.StepIndom, Class: metric.Fast,
			Help: "How long before a reading of a reduced archive the first one was made that it stands for"}),
		r.desc(metric.Desc{Name: layout.ReadingsMetric, Type: metric.U64, Sem: metric.Instant, Units: metric.Counts, Indom: layout.StepIndom, Class: metric.Fast,
			Help: "How many readings one of a reduced archive stands for"}),
	}}
	return f
}

// enter begins with the next archive. Nothing is carried over into it: each archive's part of a
// step becomes a block of its own, next to those of the other archives.
func (f *folder) enter(file *archive.File) error {
	f.file, f.fresh, f.breaks = file, true, nil
	for i := range file.Events {
		e := &file.Events[i]
		if e.Churn || !e.Has([]metric.EventKind{metric.EventSleep, metric.EventWake, metric.EventGap}) {
			continue
		}
		list, err := e.Events(file)
		if err != nil {
			continue // The loss is reported when events are copied.
		}
		for k := range list {
			switch list[k].Kind {
			case metric.EventSleep, metric.EventWake, metric.EventGap:
				f.breaks = append(f.breaks, break_{list[k].At.Wall, list[k].At.Cont})
			}
		}
	}
	slices.SortFunc(f.breaks, func(x, y break_) int { return compare(x.cont, y.cont) })
	return nil
}

// broken reports whether the recording was interrupted between two readings.
func (f *folder) broken(a, b metric.Stamp) bool {
	i, _ := slices.BinarySearchFunc(f.breaks, a.Cont, func(e break_, at int64) int { return compare(e.cont, at) })
	for i = max(0, i-1); i < len(f.breaks) && f.breaks[i].cont <= b.Cont; i++ {
		e := f.breaks[i]
		if a.Cont < e.cont || a.Wall <= e.wall && e.wall < b.Wall {
			return true
		}
	}
	return false
}

// chunk reduces a chunk of the class.
func (f *folder) chunk(ref *archive.ChunkRef) error {
	c, err := ref.Open()
	if err != nil {
		return err
	}
	ticks, err := c.Stamps()
	if err != nil {
		return err
	}
	segs := make([]int, len(ticks))
	brokenAt := make([]bool, len(ticks))
	for i, t := range ticks {
		n := floor(t.Wall, f.step)
		brokenAt[i] = !f.any || f.fresh || f.broken(f.last, t)
		if brokenAt[i] || n != f.number {
			f.seg++
			f.openFrom = t.Cont
		}
		f.number, f.last, f.any, f.fresh = n, t, true, false
		segs[i], f.segEnds[f.seg] = f.seg, t
	}
	for _, g := range c.Groups {
		if g.Name == layout.StepGroup || metric.OfStacks(g.Indom) {
			continue // Stacks cover seconds: there are none of steps.
		}
		if err := f.group(c, g, segs, brokenAt, ticks); err != nil {
			return err
		}
		if err := f.r.pace(); err != nil {
			return err
		}
	}
	for _, g := range f.order {
		if g.open && g.seg != f.seg {
			g.close()
		}
	}
	for n := range f.segEnds {
		if n < f.seg {
			delete(f.segEnds, n)
		}
	}
	return f.flush(f.openFrom)
}

func floor(wall, step int64) int64 {
	n := wall / step
	if wall%step < 0 {
		n--
	}
	return n
}

// end closes what is open.
func (f *folder) end() error {
	for _, g := range f.order {
		if g.open {
			g.close()
		}
	}
	return f.flush(1<<63 - 1)
}

// flush appends the ticks before a time on the continuous clock.
func (f *folder) flush(before int64) error {
	slices.SortStableFunc(f.pending, func(x, y pending) int { return compare(x.tick.Cont, y.tick.Cont) })
	n := 0
	for n < len(f.pending) && f.pending[n].tick.Cont < before {
		first := n
		for n < len(f.pending) && f.pending[n].tick.Cont == f.pending[first].tick.Cont {
			n++
		}
		if err := f.append(f.pending[first:n]); err != nil {
			return err
		}
	}
	f.pending = append(f.pending[:0], f.pending[n:]...)
	return nil
}

// append appends one tick.
func (f *folder) append(list []pending) error {
	t := &metric.Tick{Class: f.class, At: list[0].tick}
	tells := &metric.Block{Group: f.began, At: t.At, Cols: make([]metric.Column, 2)}
	for _, p := range list {
		t.Blocks = append(t.Blocks, p.block)
		name := p.block.Group.Name
		in := f.steps[name]
		if in == nil {
			in = &metric.Instance{Key: layout.StepKey(f.class, name), Name: name}
			f.steps[name] = in
		}
		tells.Rows = append(tells.Rows, in)
		tells.Cols[0].Bits = append(tells.Cols[0].Bits, uint64(p.began))
		tells.Cols[1].Bits = append(tells.Cols[1].Bits, p.readings)
	}
	t.Blocks = append(t.Blocks, tells)
	if err := f.r.w.Append(t); err != nil {
		return &writeError{err}
	}
	return f.r.ctx.Err()
}

// group reduces one group of a chunk.
func (f *folder) group(c *archive.OpenChunk, g *chunk.Group, segs []int, brokenAt []bool, ticks []metric.Stamp) error {
	if g.Blocks == 0 {
		return nil
	}
	id := [2]string{g.Name, g.Indom}
	st := f.groups[id]
	if st == nil {
		st = &group{f: f, name: g.Name, indom: g.Indom, instances: make(map[string]*metric.Instance)}
		f.groups[id] = st
		f.order = append(f.order, st)
	}
	fold := &folding{group: st, c: c, g: g, segs: segs, ticks: ticks, brokenAt: brokenAt}
	return fold.run()
}
