package querytest

import (
	"iter"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// matching walks the series that sel names.
func (a *Archive) matching(sel store.Selection) iter.Seq2[*part, *series] {
	return func(yield func(*part, *series) bool) {
		for _, p := range a.parts {
			if sel.Hosts != nil && !slices.Contains(sel.Hosts, p.info.Host.ID) {
				continue
			}
			for _, s := range p.series {
				if sel.Metrics != nil && !slices.Contains(sel.Metrics, s.desc.Name) {
					continue
				}
				if s.in != nil && sel.Keys != nil && !slices.Contains(sel.Keys, s.in.Key) {
					continue
				}
				if s.in != nil && sel.Instance != nil && !sel.Instance(s.desc.Indom, s.in) {
					continue
				}
				if !yield(p, s) {
					return
				}
			}
		}
	}
}

// span is the range of s's values that sel asks for. The value before the
// window counts only in the part where it directly precedes it.
func (a *Archive) span(sel store.Selection, p *part, s *series) (lo, hi int) {
	lo, hi = len(s.wall), 0
	for i, w := range s.wall {
		if w >= sel.From && (sel.To == 0 || w <= sel.To) {
			lo, hi = min(lo, i), i+1
		}
	}
	if !sel.Prior || sel.From <= 0 {
		return min(lo, hi), hi
	}
	if hi > 0 {
		return max(lo-1, 0), hi
	}
	// Nothing in the window: the last value before it is wanted if no later
	// part of the boot has one.
	last := -1
	for i, w := range s.wall {
		if w < sel.From {
			last = i
		}
	}
	if last < 0 || a.laterInBoot(sel, p, s) {
		return 0, 0
	}
	return last, last + 1
}

func (a *Archive) laterInBoot(sel store.Selection, p *part, s *series) bool {
	seen := false
	for _, q := range a.parts {
		if q == p {
			seen = true
			continue
		}
		if !seen || q.info.BootID != p.info.BootID || q.info.Host.ID != p.info.Host.ID {
			continue
		}
		for _, t := range q.series {
			if t.desc.Name == s.desc.Name && t.in == s.in && len(t.wall) > 0 && t.wall[0] < sel.From {
				return true
			}
		}
	}
	return false
}

// Select reads values; see store.Reader. Like that one it gives what was before
// the window ahead of all that is in it.
func (a *Archive) Select(sel store.Selection) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		for p, s := range a.matching(sel) {
			if lo, hi := a.span(sel, p, s); lo < hi && s.wall[lo] < sel.From && !yield(s.run(p, lo, lo+1)) {
				return
			}
		}
		for p, s := range a.matching(sel) {
			lo, hi := a.span(sel, p, s)
			if lo < hi && s.wall[lo] < sel.From {
				lo++
			}
			for i := lo; i < hi; i += a.RunLength {
				if !yield(s.run(p, i, min(i+a.RunLength, hi))) {
					return
				}
			}
		}
	}
}

func (s *series) run(p *part, i, j int) *store.Run {
	r := &store.Run{Archive: p.info, Metric: s.desc, Instance: s.in,
		Wall: s.wall[i:j], Cont: s.cont[i:j], Column: metric.Column{Bits: s.col.Bits[i:j], Words: s.col.Words}}
	if slices.ContainsFunc(s.col.Miss[i:j], func(m metric.Reason) bool { return m != metric.Present }) {
		r.Miss = s.col.Miss[i:j]
	}
	return r
}

// Summarize sums up values; see store.Reader.
func (a *Archive) Summarize(sel store.Selection) iter.Seq[*store.Summary] {
	return func(yield func(*store.Summary) bool) {
		for r := range a.Select(sel) {
			if r.Metric.Type == metric.String {
				continue
			}
			for _, part := range cut(r, sel.Cuts) {
				if !yield(summarize(part)) {
					return
				}
			}
		}
	}
}

// cut divides a run at wall clocks; what was read at one is before it.
func cut(r *store.Run, cuts []int64) []*store.Run {
	var out []*store.Run
	side := func(i int) int { n, _ := slices.BinarySearch(cuts, r.Wall[i]); return n }
	for from := 0; from < len(r.Wall); {
		to := from + 1
		for to < len(r.Wall) && side(to) == side(from) {
			to++
		}
		part := *r
		part.Wall, part.Cont, part.Bits = r.Wall[from:to], r.Cont[from:to], r.Bits[from:to]
		if r.Miss != nil {
			part.Miss = r.Miss[from:to]
		}
		out, from = append(out, &part), to
	}
	return out
}

func summarize(r *store.Run) *store.Summary {
	s := &store.Summary{Archive: r.Archive, Metric: r.Metric, Instance: r.Instance, Steepest: math.Inf(1)}
	d := r.Metric
	ordered := false
	for i := range r.Wall {
		if r.Miss != nil && r.Miss[i] != metric.Present {
			s.Missing++
			continue
		}
		pt := store.Point{Wall: r.Wall[i], Cont: r.Cont[i], Bits: r.Bits[i]}
		v := metric.Number(d.Type, pt.Bits)
		if s.Count == 0 {
			s.First = pt
		} else {
			s.Weighted += v * float64(pt.Cont-s.Last.Cont) / 1e9
			if d.Sem == metric.Counter {
				inc, step := metric.Increase(d, s.Last.Bits, pt.Bits, float64(pt.Cont-s.Last.Cont)/1e9)
				s.Increase += inc
				switch step {
				case metric.Restarted:
					s.Resets++
				case metric.Wrapped:
					s.Wraps++
				}
			}
		}
		s.Count++
		s.Last = pt
		s.Sum += v
		if math.IsNaN(v) {
			continue
		}
		if !ordered {
			s.Min, s.Max, ordered = pt.Bits, pt.Bits, true
			continue
		}
		if less(d.Type, pt.Bits, s.Min) {
			s.Min = pt.Bits
		}
		if less(d.Type, s.Max, pt.Bits) {
			s.Max = pt.Bits
		}
	}
	return s
}

func less(t metric.Type, a, b uint64) bool {
	switch {
	case t.Float():
		return metric.Number(t, a) < metric.Number(t, b)
	case t.Signed():
		return int64(a) < int64(b)
	default:
		return a < b
	}
}

// SummarizeByChunk sums up part by part; see store.Reader.
func (a *Archive) SummarizeByChunk(sel store.Selection) iter.Seq[[]store.Summary] {
	return func(yield func([]store.Summary) bool) {
		var last *store.ArchiveInfo
		var list []store.Summary
		for s := range a.Summarize(sel) {
			if last != nil && s.Archive != last {
				if !yield(list) {
					return
				}
				list = list[:0]
			}
			last = s.Archive
			list = append(list, *s)
		}
		if len(list) > 0 {
			yield(list)
		}
	}
}
