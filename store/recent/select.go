package recent

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Select yields the values that sel selects, in the same order as a store.Reader. There are no
// cohorts.
func (a *Archive) Select(sel store.Selection) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		g := gatherer{sel: &sel}
		a.walk(&sel, func(p *plan) bool {
			for _, name := range p.names {
				for i := range g.gather(p, name) {
					if !yield(&g.runs[i].Run) {
						return false
					}
				}
			}
			return true
		})
	}
}

// A plan is what a selection selects in one archive: for each metric the streams with its
// values.
type plan struct {
	part    *part
	names   []string // sorted
	streams map[string][]stream
}

// A stream is one metric in one class, and the selected blocks with it in the order in which
// they were read.
type stream struct {
	*column
	blocks []reading
}

// A reading is a block of a stream.
type reading struct {
	*block
	col int
}

func end(sel *store.Selection) int64 {
	if sel.To == 0 {
		return math.MaxInt64
	}
	return sel.To
}

// walk calls fn with the plan of sel for each archive, until fn returns false, in the order of a
// store.Reader: first with the values before the window, if sel.Prior asks for them.
func (a *Archive) walk(sel *store.Selection, fn func(*plan) bool) {
	type boot struct{ host, id string }
	of := func(p *part) boot { return boot{p.Host.ID, p.BootID} }
	before := make(map[boot]*part) // the last part of each boot before the window
	reach := make(map[boot]bool)   // the boots with a part in the window,
	began := make(map[boot]bool)   // and those of them whose part has been reached
	for _, p := range a.parts {
		if p.To < sel.From {
			before[of(p)] = p
		} else if p.From <= end(sel) {
			reach[of(p)] = true
		}
	}
	names := a.names(sel)
	for _, p := range a.parts {
		if sel.Hosts != nil && !slices.Contains(sel.Hosts, p.Host.ID) {
			continue
		}
		b := of(p)
		if p.From > end(sel) {
			break
		}
		if p.To < sel.From {
			if sel.Prior && !reach[b] && before[b] == p && !a.prior(sel, names, nil, p, fn) {
				return
			}
			continue
		}
		if sel.Prior && !began[b] {
			began[b] = true
			if !a.prior(sel, names, before[b], p, fn) {
				return
			}
		}
		if !fn(a.plan(p, names, func(list []reading) []reading { return within(list, sel.From, end(sel)) })) {
			return
		}
	}
}

// names returns the metrics that sel selects, in order.
func (a *Archive) names(sel *store.Selection) []string {
	var names []string
	if sel.Metrics == nil {
		for name := range a.tablesOf {
			names = append(names, name)
		}
	} else {
		for _, name := range sel.Metrics {
			if a.tablesOf[name] != nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// prior calls fn with the last values before the window: those in p and, for metrics that p
// lacks, those in the part before it.
func (a *Archive) prior(sel *store.Selection, names []string, before, p *part, fn func(*plan) bool) bool {
	last := func(list []reading) []reading { return lastBefore(list, sel.From, end(sel)) }
	own := a.plan(p, names, last)
	if before != nil {
		var others []string
		for _, name := range names {
			if own.streams[name] == nil {
				others = append(others, name)
			}
		}
		if others != nil && !fn(a.plan(before, others, last)) {
			return false
		}
	}
	return fn(own)
}

// plan finds the values of some metrics in a part; choose selects among the blocks of a metric.
func (a *Archive) plan(p *part, names []string, choose func([]reading) []reading) *plan {
	out := &plan{part: p, streams: make(map[string][]stream)}
	for _, name := range names {
		var list []stream
		for _, tab := range a.tablesOf[name] {
			if tab.blocks == 0 {
				continue
			}
			s := stream{column: tab.find(name)}
			n := tab.place(name)
			for _, t := range a.ticks[tab.class] {
				if t.part != p {
					continue
				}
				for i := range t.blocks {
					if t.blocks[i].table == tab {
						s.blocks = append(s.blocks, reading{&t.blocks[i], n})
					}
				}
			}
			if s.blocks = choose(s.blocks); len(s.blocks) > 0 {
				list = append(list, s)
			}
		}
		if list == nil {
			continue
		}
		slices.SortStableFunc(list, func(x, y stream) int { return cmp.Compare(x.blocks[0].at.Cont, y.blocks[0].at.Cont) })
		out.names = append(out.names, name)
		out.streams[name] = list
	}
	return out
}

// within returns the blocks whose wall clock is between from and to.
func within(list []reading, from, to int64) []reading {
	n := 0
	for _, r := range list {
		if r.at.Wall >= from && r.at.Wall <= to {
			list[n] = r
			n++
		}
	}
	return list[:n]
}

// lastBefore returns the last block with a wall clock before from, among those that precede the
// first block between from and to, or among all if none is between.
func lastBefore(list []reading, from, to int64) []reading {
	i := slices.IndexFunc(list, func(r reading) bool { return r.at.Wall >= from && r.at.Wall <= to })
	if i < 0 {
		i = len(list)
	}
	for i--; i >= 0; i-- {
		if list[i].at.Wall < from {
			return list[i : i+1]
		}
	}
	return nil
}

// A gatherer collects the values of a metric, instance by instance.
type gatherer struct {
	sel   *store.Selection
	runs  []gathered // reused from metric to metric
	place map[*row]int
	asked map[*row]bool
}

type gathered struct {
	store.Run
	row *row
}

// gather collects the runs of one metric, in order.
func (g *gatherer) gather(p *plan, name string) []gathered {
	n := 0
	streams := p.streams[name]
	for i := range streams {
		s := &streams[i]
		clear(g.place)
		for _, b := range s.blocks {
			for k, w := range b.rows {
				if w != nil && !g.wants(s.desc.Indom, w) {
					continue
				}
				at, ok := g.place[w]
				if !ok {
					at = n
					n++
					if g.place == nil {
						g.place = make(map[*row]int)
					}
					g.place[w] = at
					g.begin(at, p, s, w)
				}
				g.runs[at].add(s.desc.Type, &b, k)
			}
		}
	}
	if len(streams) > 1 {
		g.group(n)
	}
	return g.runs[:n]
}

// group sorts the runs by instance, in the order in which instances first came.
func (g *gatherer) group(n int) {
	first := make(map[*row]int)
	for i := range g.runs[:n] {
		if _, ok := first[g.runs[i].row]; !ok {
			first[g.runs[i].row] = i
		}
	}
	slices.SortStableFunc(g.runs[:n], func(x, y gathered) int { return cmp.Compare(first[x.row], first[y.row]) })
}

// begin makes run i an empty run of an instance.
func (g *gatherer) begin(i int, p *plan, s *stream, w *row) {
	if i == len(g.runs) {
		g.runs = append(g.runs, gathered{})
	}
	r := &g.runs[i]
	r.row, r.Archive, r.Metric, r.Instance = w, &p.part.Info, s.effective, nil
	if w != nil {
		r.Instance = w.Instance
	}
	r.Wall, r.Cont, r.Bits, r.Words, r.Miss = r.Wall[:0], r.Cont[:0], r.Bits[:0], nil, nil
}

// add adds the value in row k of a block.
func (r *gathered) add(typ metric.Type, b *reading, k int) {
	col := &b.cols[b.col]
	bits, why := col.Bits[k], metric.Present
	if col.Miss != nil {
		why = col.Miss[k]
	}
	switch {
	case why != metric.Present:
		if r.Miss == nil {
			r.Miss = make([]metric.Reason, len(r.Bits), len(r.Bits)+8)
		}
		bits = 0
	case typ == metric.String:
		word := col.Word(k)
		at := slices.Index(r.Words, word)
		if at < 0 {
			at = len(r.Words)
			r.Words = append(r.Words, word)
		}
		bits = uint64(at)
	}
	r.Wall, r.Cont, r.Bits = append(r.Wall, b.at.Wall), append(r.Cont, b.at.Cont), append(r.Bits, bits)
	if r.Miss != nil {
		r.Miss = append(r.Miss, why)
	}
}

// wants reports whether the selection wants an instance. It asks sel.Instance once for each.
func (g *gatherer) wants(indom string, w *row) bool {
	if g.sel.Keys != nil && !slices.Contains(g.sel.Keys, w.Key) {
		return false
	}
	if g.sel.Instance == nil {
		return true
	}
	yes, asked := g.asked[w]
	if !asked {
		yes = g.sel.Instance(indom, w.Instance)
		if g.asked == nil {
			g.asked = make(map[*row]bool)
		}
		g.asked[w] = yes
	}
	return yes
}
