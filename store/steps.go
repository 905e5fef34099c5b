package store

import (
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// A summed is the summary of a series. Blocks of a reduced archive stand for many readings. For
// these it also has how long before its block the first reading was made (began), how long a
// first value that is a mean was held (lead), and how long before the last block the last
// reading was made (ended).
type summed struct {
	chunk.Summary
	began, lead, ended int64
	since, until       int64 // how long before the first and the last block the instance was read first and last
	every              int64 // the time between readings in the step of the first value
	came               bool  // the instance came in that step
	averaged           bool  // the last value is the mean of its step
}

// A stepped is a column of a reduced archive with what the archive keeps of each step.
type stepped struct {
	col                                    *column
	first, min, max, mean, steepest, lived int // columns of the group; -1 where there is none
	began                                  []int64
	readings                               []uint64
	there                                  *presence
}

// companions finds the columns that a reduced archive keeps beside col; nil if there are none.
func (p *plan) companions(col *column) (*stepped, error) {
	v := col.v
	s := &stepped{col: col}
	any := false
	find := func(what string) int {
		for _, n := range p.a.ByName[layout.Companion(what, col.desc.Name)] {
			for k := range v.Columns {
				if v.Columns[k].Number == n && p.a.Descs[n] != nil && p.a.Descs[n].Type == v.Columns[k].Type {
					any = true
					return k
				}
			}
		}
		return -1
	}
	s.first, s.min, s.max = find(layout.First), find(layout.Min), find(layout.Max)
	s.mean, s.steepest, s.lived = find(layout.Mean), find(layout.Steepest), find(layout.Lived)
	typed := func(k *int, t metric.Type) {
		if *k >= 0 && v.Columns[*k].Type != t {
			*k = -1
		}
	}
	for _, k := range []*int{&s.first, &s.min, &s.max} {
		typed(k, col.desc.Type)
	}
	for _, k := range []*int{&s.mean, &s.steepest, &s.lived} {
		typed(k, metric.F32)
	}
	if !any && metric.PerBoot(v.Indom) {
		return nil, nil
	}
	var err error
	s.began, s.readings, err = p.a.StepsOf(v.Chunk, v.Ref.Info.Class, v.Group)
	return s, err
}

// A step is what a reduced archive holds of a series in one step, which is a block.
type step struct {
	block                          uint32
	why                            metric.Reason
	last, first, min, max          uint64
	mean, steepest, lived          float64
	hasMean, hasSteepest, hasLived bool
}

// summarizeSteps calls add with the summaries of a column of a reduced archive.
func (p *plan) summarizeSteps(s *stepped, rows []int, add func(*column, int, *summed, Spread)) error {
	v := s.col.v
	if rows == nil {
		rows = make([]int, v.Size)
		for i := range rows {
			rows[i] = i
		}
	}
	// A limited number of steps at a time: there may be tens of thousands of processes.
	const most = 1 << 18
	for len(rows) > 0 && !p.scope.over() {
		n, steps := 0, 0
		for n < len(rows) && steps < most {
			in, err := v.Instance(rows[n])
			if err != nil {
				return err
			}
			for _, r := range in.Runs {
				steps += int(r.End - r.Start)
			}
			n++
		}
		some := rows[:n]
		rows = rows[n:]
		decoded, err := s.decode(some)
		if err != nil {
			return err
		}
		for i, row := range some {
			for _, sp := range s.col.spans {
				if sum, ok := s.sum(decoded[i], row, sp); ok {
					s.there.bound(row, &sum)
					add(s.col, row, &sum, Spread{Values: []Repeated{}})
				}
			}
		}
	}
	return nil
}

// decode decodes the steps of some rows, which must be in rising order.
func (s *stepped) decode(rows []int) ([][]step, error) {
	v := s.col.v
	out := make([][]step, len(rows))
	take := func(k int, put func(x *step, bits uint64, why metric.Reason)) error {
		if k < 0 {
			return nil
		}
		at := 0
		return v.SeriesUntil(k, rows, s.col.until(), func(row int, series *chunk.Series) error {
			in, err := v.Instance(row)
			if err != nil {
				return err
			}
			for at < len(rows) && rows[at] < row {
				at++
			}
			if at == len(rows) || rows[at] != row {
				return nil
			}
			n := 0
			series.Stretches(in, 0, s.col.until(), func(start, end uint32, bits uint64, why metric.Reason) {
				for ; start < end; start++ {
					if k == s.col.col {
						out[at] = append(out[at], step{block: start})
					}
					if n < len(out[at]) {
						put(&out[at][n], bits, why)
					}
					n++
				}
			})
			return nil
		})
	}
	number := func(into func(*step) (*float64, *bool)) func(*step, uint64, metric.Reason) {
		return func(x *step, bits uint64, why metric.Reason) {
			value, has := into(x)
			if f := metric.Number(metric.F32, bits); why == metric.Present && f-f == 0 {
				*value, *has = f, true
			}
		}
	}
	base := func(x *step, bits uint64, why metric.Reason) {
		x.why, x.last, x.first, x.min, x.max = why, bits, bits, bits, bits
	}
	err := take(s.col.col, base)
	for _, c := range []struct {
		k   int
		put func(*step, uint64, metric.Reason)
	}{
		{s.first, func(x *step, bits uint64, why metric.Reason) {
			if why == metric.Present {
				x.first = bits
			}
		}},
		{s.min, func(x *step, bits uint64, why metric.Reason) {
			if why == metric.Present {
				x.min = bits
			}
		}},
		{s.max, func(x *step, bits uint64, why metric.Reason) {
			if why == metric.Present {
				x.max = bits
			}
		}},
		{s.mean, number(func(x *step) (*float64, *bool) { return &x.mean, &x.hasMean })},
		{s.steepest, number(func(x *step) (*float64, *bool) { return &x.steepest, &x.hasSteepest })},
		{s.lived, number(func(x *step) (*float64, *bool) { return &x.lived, &x.hasLived })},
	} {
		if err == nil {
			err = take(c.k, c.put)
		}
	}
	return out, err
}

// sum adds up the steps of a span. Known are the number of readings in a step, the time between
// the first and the last of them, and the value before. The result is therefore what all
// readings would have given, except for the mean, which is kept with 24 binary digits.
func (s *stepped) sum(steps []step, row int, sp archive.Span) (out summed, ok bool) {
	d, v := s.col.desc, s.col.v
	typ := d.Type
	number := func(bits uint64) float64 { return metric.Number(typ, bits) }
	if steepless(d) {
		out.Steepest = math.Inf(1)
	}
	first, _ := slices.BinarySearchFunc(steps, sp.From, func(x step, block uint32) int { return int(x.block) - int(block) })
	for i := first; i < len(steps) && steps[i].block <= sp.To; i++ {
		x := &steps[i]
		b := x.block
		n := s.readings[b]
		held := s.lived >= 0 // processes, whose steps have a mean even where they have gone
		if x.why != metric.Present && !(held && x.hasMean) {
			out.Missing += n
			continue
		}
		if x.why != metric.Present {
			// The process has gone, and its last value is not recorded, but its mean is.
			x.last = bitsOf(typ, x.mean)
		}
		began, ended, lived := s.began[b], int64(0), int64(0)
		if held {
			if x.hasLived {
				lived = int64(max(0, min(x.lived, 1e9)) * 1e9)
			}
			n = 1
			began = 0
			if s.there != nil {
				began, ended = s.there.seen(row, b)
				if every := s.there.every(b); every > 0 {
					n = uint64(max(0, began-ended+every/2)/every) + 1
				}
				if lived > 0 && x.why != metric.Present { // The process has a value for so long, beginning with the reading before its first one.
					before := s.there.every(b)
					if out.Count > 0 {
						before = v.Cont[b] - began - (v.Cont[out.LastBlock] - out.ended)
					}
					ended = min(began, max(ended, began-max(0, lived-before)))
				}
			}
		}
		at := v.Cont[b] - began
		inside := float64(began-ended) / 1e9
		mean := x.mean
		switch {
		case held && x.hasMean:
			// For processes no smallest value is kept, and the mean has fewer digits than the
			// other numbers.
			if float32(number(x.max)) == float32(mean) {
				mean = number(x.max)
			}
		case d.Sem != metric.Counter && chunkSame(typ, x.min, x.max): // counters keep neither
			mean = number(x.min)
		case !x.hasMean:
			mean = float64((number(x.first) + number(x.last)) / 2)
			if n > 1 { // Each value counts for the time since the reading before it.
				mean += float64((number(x.last) - number(x.first)) / float64(2*(n-1)))
			}
		}
		if held {
			x.first = x.last
			if x.hasMean {
				x.first = bitsOf(typ, mean)
			}
			x.min = lower(typ, x.first, x.last)
		} else if d.Sem == metric.Counter {
			x.min, x.max = x.first, x.last
			if chunk.Less(typ, x.last, x.first) {
				x.min, x.max = x.last, x.first
			}
		}
		if out.Count == 0 {
			out.FirstBlock, out.First, out.Min, out.Max = b, x.first, x.min, x.max
			out.began = began
			switch {
			case held && lived > 0:
				out.lead = max(1, lived-(began-ended))
			case held && s.there != nil:
				out.lead = s.there.every(b)
			}
		} else {
			gap := float64(at-(v.Cont[out.LastBlock]-out.ended)) / 1e9
			before := number(x.first)
			if held {
				before = mean
			}
			if lived > 0 {
				gap = max(0, min(gap, float64(lived-(began-ended))/1e9))
			}
			out.Weighted += float64(before * gap)
			s.gain(&out, x.first, gap)
			if chunk.Less(typ, x.min, out.Min) {
				out.Min = x.min
			}
			if chunk.Less(typ, out.Max, x.max) {
				out.Max = x.max
			}
		}
		out.Weighted += float64(mean * inside)
		out.Sum += float64(mean * float64(n))
		if d.Sem == metric.Counter {
			out.Last = x.first
			steepest := out.Steepest
			s.gain(&out, x.last, 0)
			out.Steepest = steepest
			if x.hasSteepest {
				out.Steepest = max(out.Steepest, x.steepest)
			}
		}
		out.Count += n
		out.LastBlock, out.Last, out.ended, out.averaged = b, x.last, ended, x.why != metric.Present
	}
	return out, out.Count+out.Missing > 0
}

// gain adds a counter's increase since the last value.
func (s *stepped) gain(out *summed, to uint64, seconds float64) {
	if s.col.desc.Sem != metric.Counter {
		return
	}
	gain, how := metric.Increase(s.col.desc, out.Last, to, seconds)
	out.Increase += gain
	if seconds > 0 && gain > 0 {
		out.Steepest = max(out.Steepest, gain/seconds)
	}
	switch how {
	case metric.Wrapped:
		out.Wraps++
	case metric.Restarted:
		out.Resets++
	}
}

// steepless reports whether nothing records how steeply a metric rose.
func steepless(d *metric.Desc) bool { return d.Sem == metric.Counter && metric.PerBoot(d.Indom) }

func chunkSame(t metric.Type, a, b uint64) bool { return !chunk.Less(t, a, b) && !chunk.Less(t, b, a) }

func lower(t metric.Type, a, b uint64) uint64 {
	if chunk.Less(t, b, a) {
		return b
	}
	return a
}

// bitsOf returns the bits of the value of type t that is nearest to x.
func bitsOf(t metric.Type, x float64) uint64 {
	switch {
	case t == metric.F64:
		return math.Float64bits(x)
	case t == metric.F32:
		return uint64(math.Float32bits(float32(x)))
	case t.Signed():
		return uint64(int64(math.Round(max(-1<<62, min(x, 1<<62)))))
	}
	return uint64(math.Round(max(0, min(x, 1<<63))))
}

// bound sets in a summary when the instance was first and last read.
func (p *presence) bound(row int, s *summed) {
	if p != nil && s.Count > 0 {
		s.since, _ = p.seen(row, s.FirstBlock)
		_, s.until = p.seen(row, s.LastBlock)
		s.every, s.came = p.every(s.FirstBlock), p.comes(row, s.FirstBlock)
	}
}
