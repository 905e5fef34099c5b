package recent

import (
	"cmp"
	"maps"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Parts returns the archives of which something is kept, in the order of time, for one question.
// Each begins with the oldest thing that is kept of it.
func (a *Archive) Parts() []store.Part {
	g := &gatherer{a: a}
	parts := make([]store.Part, len(a.parts))
	for i, p := range a.parts {
		parts[i] = asked{p, g}
	}
	return parts
}

// An asked part is a part as one question sees it.
type asked struct {
	*part
	g *gatherer
}

func (p asked) Describe() *store.ArchiveInfo { return &p.Info }

func (p asked) Contain(fn func() bool) bool { return fn() }

// Within plans the values in the window of sel.
func (p asked) Within(sel *store.Selection) store.Plan {
	return p.plan(sel, nil, func(list []reading) []reading {
		return slices.DeleteFunc(list, func(r reading) bool { return !sel.Holds(r.at.Wall) })
	})
}

// Before plans the last values before the window of sel.
func (p asked) Before(sel *store.Selection, later store.Plan) store.Plan {
	return p.plan(sel, later, func(list []reading) []reading { return lastBefore(list, sel) })
}

// A plan is what a selection selects in one archive: for each metric the streams with its
// values.
type plan struct {
	asked
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

// plan finds the values that sel selects in a part, without the metrics that later has; choose
// selects among the blocks of a metric.
func (p asked) plan(sel *store.Selection, later store.Plan, choose func([]reading) []reading) *plan {
	a := p.g.a
	p.g.sel = sel
	out := &plan{asked: p, streams: make(map[string][]stream)}
	for _, name := range p.g.names() {
		if later != nil && later.Has(name) {
			continue
		}
		var list []stream
		for _, tab := range a.tablesOf[name] {
			if tab.blocks == 0 {
				continue
			}
			s := stream{column: tab.find(name)}
			n := tab.place(name)
			for _, t := range a.ticks[tab.class] {
				if t.part != p.part {
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

// lastBefore returns the last block before the window, among those that precede the first block
// in the window, or among all if none is in it.
func lastBefore(list []reading, sel *store.Selection) []reading {
	i := slices.IndexFunc(list, func(r reading) bool { return sel.Holds(r.at.Wall) })
	if i < 0 {
		i = len(list)
	}
	for i--; i >= 0; i-- {
		if list[i].at.Wall < sel.From {
			return list[i : i+1]
		}
	}
	return nil
}

// Has reports whether there are values of a metric.
func (p *plan) Has(metric string) bool { return p.streams[metric] != nil }

// Runs yields the values, metric by metric.
func (p *plan) Runs(yield func(*store.Run) bool) bool {
	for _, name := range p.names {
		for i := range p.g.gather(p, name) {
			if !yield(&p.g.runs[i].Run) {
				return false
			}
		}
	}
	return true
}

// A gatherer collects the values of a metric, instance by instance.
type gatherer struct {
	a       *Archive
	sel     *store.Selection
	metrics []string   // that sel selects, in order
	runs    []gathered // reused from metric to metric
	place   map[*row]int
	asked   map[*row]bool
}

type gathered struct {
	store.Run
	row *row
}

// names returns the metrics that the selection selects, in order.
func (g *gatherer) names() []string {
	if g.metrics == nil {
		g.metrics = slices.Clone(g.sel.Metrics)
		if g.sel.Metrics == nil {
			g.metrics = slices.Collect(maps.Keys(g.a.tablesOf))
		}
		slices.Sort(g.metrics)
		g.metrics = slices.Compact(g.metrics)
	}
	return g.metrics
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
