package reduce

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// others are the processes that are not listed one by one: what they have used since the archive
// began.
type others struct {
	in     *metric.Instance
	totals []float64       // by column: the gain of counters
	before map[string]*was // by process that lives, or lived lately
	spans  int             // spans that have been put
}

// A was holds the counters of a process when it was last seen.
type was struct {
	bits []uint64
	has  []bool
	span int
}

// lately is for how many steps a process may be missing and still come back.
const lately = 64

// An othersPart is the sum of the others in one span, by column: the gain of counters, what was
// held at the end, and what was held on average.
type othersPart struct{ gains, levels, means []float64 }

var severalProcesses = metric.ReasonFor("it stands for several processes")

// told reports whether an instance has a row of its own.
func (f *folder) told(g *group, in *metric.Instance) bool {
	return in == nil || g.indom != "process" || f.r.opt.Process == nil || f.r.opt.Process(in.Key)
}

// count adds a process without a row of its own to a column of a span.
func (w *writer) count(c int, in *metric.Instance, x *cell, alive bool, seconds float64) {
	g, o := w.g, &w.g.others
	if len(o.totals) != len(g.cols) {
		*o = others{in: &metric.Instance{Key: layout.OthersKey, Name: "0 (others)"}, totals: make([]float64, len(g.cols)), before: make(map[string]*was)}
	}
	if w.others.gains == nil {
		n := len(g.cols)
		w.others = othersPart{make([]float64, n), make([]float64, n), make([]float64, n)}
	}
	col := &g.cols[c]
	if x.n == 0 {
		return
	}
	switch {
	case col.counter:
		last := o.before[in.Key]
		if last == nil {
			last = &was{bits: make([]uint64, len(g.cols)), has: make([]bool, len(g.cols))}
			o.before[in.Key] = last
		}
		from := x.first
		switch {
		case last.has[c]:
			from = last.bits[c]
		case in.Began() >= g.f.r.files[0].Info.From || in.Began() == 0 && !w.base:
			from = 0 // It began during the recording.
		}
		gain, _ := metric.Increase(col.desc, from, x.last, 0)
		last.bits[c], last.has[c], last.span = x.last, true, o.spans
		w.others.gains[c] += gain
	case col.tallied:
		if alive && x.why == metric.Present {
			w.others.levels[c] += metric.Number(col.desc.Type, x.last)
		}
		if seconds > 0 {
			w.others.means[c] += x.weighted / seconds
		}
	}
}

// row puts the row of all the others into a block.
func (o *others) row(w *writer) {
	w.b.Rows = append(w.b.Rows, o.in)
	w.there(0, 0)
	if o.spans++; o.spans%lately == 0 {
		for key, last := range o.before {
			if last.span < o.spans-lately {
				delete(o.before, key)
			}
		}
	}
	part := &w.others
	of := func(list []float64, c int) float64 {
		if c < len(list) {
			return list[c]
		}
		return 0
	}
	for c := range w.g.cols {
		col := &w.g.cols[c]
		switch {
		case col.base < 0:
		case col.counter:
			o.totals[c] += of(part.gains, c)
			w.put(col.base, bitsOf(col.desc.Type, o.totals[c]), metric.Present)
		case col.tallied:
			bits := bitsOf(col.desc.Type, of(part.levels, c))
			w.put(col.base, bits, metric.Present)
			w.put(col.max, bits, metric.Present)
			w.put(col.mean, uint64(math.Float32bits(float32(of(part.means, c)))), metric.Present)
			w.put(col.lived, 0, metric.Present)
		default:
			w.put(col.base, 0, severalProcesses)
		}
	}
}

// bitsOf returns the value of a type that is nearest to x, which is at least 0.
func bitsOf(t metric.Type, x float64) uint64 {
	switch t {
	case metric.F64:
		return math.Float64bits(x)
	case metric.F32:
		return uint64(math.Float32bits(float32(x)))
	case metric.U32:
		return uint64(min(math.Round(max(x, 0)), math.MaxUint32))
	case metric.I32:
		return uint64(min(math.Round(max(x, 0)), math.MaxInt32))
	}
	return uint64(min(math.Round(max(x, 0)), 1<<62))
}

// Biggest returns the processes of archives that were among the n that used, or held, most of
// something.
func Biggest(ctx context.Context, files []*archive.File, n int) (map[string]bool, error) {
	t := &tallies{place: make(map[string]int32), amounts: make(map[string][]float64)}
	for _, f := range files {
		for _, ref := range f.Chunks {
			if ref.Info.Class != metric.Process {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			// Errors are reported when the chunk is reduced.
			_ = fault.Contain(func() error { return t.add(f, ref) })
			ref.Opened = nil
		}
	}
	keys := make([]string, len(t.place))
	for key, i := range t.place {
		keys[i] = key
	}
	out := make(map[string]bool)
	for _, of := range t.amounts {
		order := make([]int, len(of))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(x, y int) int { return cmp.Or(cmp.Compare(of[y], of[x]), cmp.Compare(keys[x], keys[y])) })
		for _, i := range order[:min(n, len(order))] {
			if of[i] > 0 {
				out[keys[i]] = true
			}
		}
	}
	return out, nil
}

// tallies are the amounts that processes used: by metric, and by the place of each process.
type tallies struct {
	place   map[string]int32
	amounts map[string][]float64
}

// add adds what the processes of a chunk used.
func (t *tallies) add(f *archive.File, ref *archive.ChunkRef) error {
	c, err := ref.Open()
	if err != nil {
		return err
	}
	for _, g := range c.Groups {
		if g.Indom != "process" {
			continue
		}
		insts, err := g.Instances()
		if err != nil {
			return err
		}
		places := make([]int32, len(insts))
		for i := range insts {
			at, ok := t.place[insts[i].Key]
			if !ok {
				at = int32(len(t.place))
				t.place[strings.Clone(insts[i].Key)] = at
			}
			places[i] = at
		}
		for k := range g.Columns {
			d := f.Desc(g.Columns[k].Number)
			if d == nil || d.Type != g.Columns[k].Type || d.Tally() == metric.NoTally {
				continue
			}
			of := t.amounts[d.Name]
			of = append(of, make([]float64, len(t.place)-len(of))...)
			t.amounts[d.Name] = of
			err := g.Series(k, nil, func(row int, s *chunk.Series) error {
				if len(s.Bits) == 0 {
					return nil
				}
				x := &of[places[row]]
				if d.Tally() != metric.TallyGain {
					for _, bits := range s.Bits {
						*x = max(*x, metric.Number(d.Type, bits))
					}
					return nil
				}
				gain, _ := metric.Increase(d, s.Bits[0], s.Bits[len(s.Bits)-1], 0)
				if runs := insts[row].Runs; len(runs) > 0 && runs[0].Start > 0 {
					gain += metric.Number(d.Type, s.Bits[0])
				}
				*x += gain
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
