package rewrite

import (
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/fault"
)

// mostConflicts is how many conflicts are reported one by one.
const mostConflicts = 20

// A joined is a part whose ticks are joined with those of others.
type joined struct {
	part
	ticks *chunk.Ticks
	tick  *metric.Tick // the next; nil at the end
}

// join copies parts that overlap: ticks of the same instant become one, and values that two of
// them hold are counted once.
func (j *job) join(parts []part) error {
	var all []*joined
	for _, p := range parts {
		if !j.reaches(&p.ref.Info) {
			continue
		}
		ticks, err := j.open(p)
		if err != nil {
			if err := j.unless(p, err); err != nil {
				return err
			}
			continue
		}
		all = append(all, &joined{part: p, ticks: ticks})
	}
	for _, s := range all {
		if err := j.next(s); err != nil {
			return err
		}
	}
	told := make(map[[2]string]int64) // by group: the continuous clock of its last block
	for {
		first := int64(0)
		any := false
		for _, s := range all {
			if s.tick != nil && (!any || s.tick.At.Cont < first) {
				first, any = s.tick.At.Cont, true
			}
		}
		if !any {
			break
		}
		var now []*joined
		var t *metric.Tick
		for _, s := range all {
			if s.tick == nil || s.tick.At.Cont != first {
				continue
			}
			now = append(now, s)
			if t == nil {
				t = news(s.tick, told)
				continue
			}
			j.mu.Lock()
			j.report.Twice++
			j.mu.Unlock()
			t = j.both(t, news(s.tick, told))
		}
		for _, b := range t.Blocks {
			told[[2]string{b.Group.Name, b.Group.Indom}] = b.At.Cont
		}
		if err := j.append(t); err != nil {
			return err
		}
		for _, s := range now {
			if err := j.next(s); err != nil {
				return err
			}
		}
	}
	for _, s := range all {
		s.ref.Opened = nil
	}
	return nil
}

// next advances s to its next tick.
func (j *job) next(s *joined) error {
	s.tick = nil
	for s.tick == nil {
		at, ok := s.ticks.At()
		if !ok {
			return nil
		}
		if then, more := s.ticks.Then(); j.outside(at, then, more) {
			_ = s.ticks.Skip()
			continue
		}
		var t *metric.Tick
		err := fault.Contain(func() (err error) {
			t, err = s.ticks.Next()
			return err
		})
		if err != nil {
			return j.unless(s.part, ofSource(err))
		}
		if s.tick = t; !j.leads(at) {
			s.tick = (&clipper{}).clip(t, j.from, j.to)
		}
	}
	return nil
}

// news returns t without the blocks that were written already: a part of an archive begins with
// how things stood, which the part before it also holds.
func news(t *metric.Tick, told map[[2]string]int64) *metric.Tick {
	old := func(b *metric.Block) bool {
		last, ok := told[[2]string{b.Group.Name, b.Group.Indom}]
		return ok && b.At.Cont <= last
	}
	if !slices.ContainsFunc(t.Blocks, old) {
		return t
	}
	out := &metric.Tick{Class: t.Class, At: t.At}
	for _, b := range t.Blocks {
		if !old(b) {
			out.Blocks = append(out.Blocks, b)
		}
	}
	return out
}

// both merges two ticks of the same instant.
func (j *job) both(x, y *metric.Tick) *metric.Tick {
	out := &metric.Tick{Class: x.Class, At: x.At, Blocks: slices.Clone(x.Blocks)}
	for _, b := range y.Blocks {
		i := slices.IndexFunc(out.Blocks, func(o *metric.Block) bool { return o.Group.Name == b.Group.Name && o.Group.Indom == b.Group.Indom })
		if i < 0 {
			out.Blocks = append(out.Blocks, b)
			continue
		}
		out.Blocks[i] = j.united(out.Blocks[i], b)
		if rest := otherMetrics(b, out.Blocks); rest != nil {
			out.Blocks = append(out.Blocks, rest)
		}
	}
	return out
}

// united returns x, plus the rows of y that x lacks if both have the same metrics, and with the
// values of y that are damaged in x. If both have a value and the values differ, that is a
// conflict, and x is believed.
func (j *job) united(x, y *metric.Block) *metric.Block {
	var column []int // y's column for each of x's, -1: none
	same := len(x.Group.Metrics) == len(y.Group.Metrics)
	for _, d := range x.Group.Metrics {
		k := slices.IndexFunc(y.Group.Metrics, func(o *metric.Desc) bool { return *o == *d })
		column = append(column, k)
		same = same && k >= 0
	}
	row := make(map[string]int, len(x.Rows))
	for i, in := range x.Rows {
		row[keyOf(in)] = i
	}
	var more []int
	out := x
	for k, in := range y.Rows {
		i, ok := row[keyOf(in)]
		if !ok {
			more = append(more, k)
			continue
		}
		for c, d := range x.Group.Metrics {
			if column[c] < 0 {
				continue
			}
			a, b := x.Cols[c].At(d.Type, i), y.Cols[column[c]].At(d.Type, k)
			switch {
			case a == b || b.Miss == chunk.Damaged:
			case a.Miss == chunk.Damaged:
				if out == x {
					out = x.Clone()
				}
				out.Cols[c].Set(i, b)
			default:
				j.conflict(x, d, in, a, b)
			}
		}
	}
	if len(more) == 0 || !same {
		return out
	}
	if out == x {
		out = x.Clone()
	}
	for _, k := range more {
		out.Rows = append(out.Rows, y.Rows[k])
		for c, d := range x.Group.Metrics {
			if col := &out.Cols[c]; col.Miss == nil {
				col.Miss = make([]metric.Reason, len(col.Bits))
			}
			out.Cols[c].Push(y.Cols[column[c]].At(d.Type, k))
		}
	}
	return out
}

// otherMetrics returns b with only the metrics that no block of its group has; nil if there are
// none.
func otherMetrics(b *metric.Block, blocks []*metric.Block) *metric.Block {
	has := func(d *metric.Desc) bool {
		return slices.ContainsFunc(blocks, func(o *metric.Block) bool {
			return o.Group.Name == b.Group.Name && o.Group.Indom == b.Group.Indom &&
				slices.ContainsFunc(o.Group.Metrics, func(x *metric.Desc) bool { return *x == *d })
		})
	}
	out := &metric.Block{Group: &metric.Group{Name: b.Group.Name, Indom: b.Group.Indom}, At: b.At, Rows: b.Rows}
	for c, d := range b.Group.Metrics {
		if !has(d) {
			out.Group.Metrics = append(out.Group.Metrics, d)
			out.Cols = append(out.Cols, b.Cols[c])
		}
	}
	if len(out.Cols) == 0 {
		return nil
	}
	return out
}

func keyOf(in *metric.Instance) string {
	if in == nil {
		return ""
	}
	return in.Key
}

// conflict notes that a value differs between two sources.
func (j *job) conflict(b *metric.Block, d *metric.Desc, in *metric.Instance, x, y metric.Value) {
	j.mu.Lock()
	defer j.mu.Unlock()
	of := ""
	if in != nil {
		of = fmt.Sprintf(" of %s", in.Name)
	}
	switch n := len(j.report.Conflicts); {
	case n < mostConflicts:
		j.report.Conflicts = append(j.report.Conflicts, fmt.Sprintf("%s%s at %s is %s in one and %s in another", d.Name, of, fault.UTC(b.At.Wall), valueText(x), valueText(y)))
	case n == mostConflicts:
		j.report.Conflicts = append(j.report.Conflicts, "and more")
	}
}

func valueText(v metric.Value) string {
	if v.Miss != metric.Present {
		return "absent (" + v.Miss.String() + ")"
	}
	return v.String()
}
