package derive

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
)

// Summarize yields summaries of each numeric series that sel asks for, in the order of Select.
// With Prior, the value before the window has a summary of its own.
func (a Answers) Summarize(sel store.Selection) iter.Seq[*store.Summary] {
	return func(yield func(*store.Summary) bool) {
		for r := range a.Select(sel) {
			if r.Metric.Type == metric.String {
				continue
			}
			for from := 0; from < len(r.Wall); {
				to := from + 1
				for to < len(r.Wall) && side(sel.Cuts, r.Wall[to]) == side(sel.Cuts, r.Wall[from]) {
					to++
				}
				if s := summarize(r, from, to, sel.Spread); s != nil && !yield(s) {
					return
				}
				from = to
			}
		}
	}
}

// side returns the number of cuts before a clock. A clock at a cut is before the cut.
func side(cuts []int64, wall int64) int {
	n, _ := slices.BinarySearch(cuts, wall)
	return n
}

// summarize sums up the values of r from index from up to, but without, index to.
func summarize(r *store.Run, from, to int, spread bool) *store.Summary {
	var miss []metric.Reason
	if r.Miss != nil {
		miss = r.Miss[from:to]
	}
	s, ok := chunk.SummarizeValues(r.Metric, r.Cont[from:to], r.Bits[from:to], miss)
	if !ok {
		return nil
	}
	out := &store.Summary{Archive: r.Archive, Metric: r.Metric, Instance: r.Instance, Count: s.Count, Missing: s.Missing}
	if s.Count > 0 {
		point := func(block uint32, bits uint64) store.Point {
			return store.Point{Wall: r.Wall[from+int(block)], Cont: r.Cont[from+int(block)], Bits: bits}
		}
		out.First, out.Last = point(s.FirstBlock, s.First), point(s.LastBlock, s.Last)
		out.Min, out.Max, out.Sum, out.Weighted = s.Min, s.Max, s.Sum, s.Weighted
		out.Increase, out.Resets, out.Wraps, out.Steepest = s.Increase, s.Resets, s.Wraps, s.Steepest
	}
	if spread {
		out.Spread.Values = []store.Repeated{}
		for i, bits := range r.Bits[from:to] {
			if miss == nil || miss[i] == metric.Present {
				out.Spread.Values = append(out.Spread.Values, store.Repeated{Bits: bits, Times: 1})
			}
		}
	}
	return out
}
