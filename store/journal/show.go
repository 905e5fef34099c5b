package journal

import "tachograph/sample/metric"

// startBlock prepares b for the rows of g, which have just been decoded.
func (s *state) startBlock(g *group, b *metric.Block) {
	b.Group = g.g
	n := len(g.rows)
	b.Rows = b.Rows[:0]
	if len(b.Cols) != len(g.cols) {
		b.Cols = make([]metric.Column, len(g.cols))
	}
	for j := range b.Cols {
		col := &b.Cols[j]
		if g.g.Metrics[j].Type == metric.String {
			col.Strs = resize(col.Strs, n)
		} else {
			col.Bits = resize(col.Bits, n)
		}
		col.Miss = nil
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}

// show writes row r into row i of b.
func (s *state) show(g *group, r *row, b *metric.Block, i int) {
	b.Rows = append(b.Rows, r.inst.in)
	for j := range r.cells {
		k, col := &r.cells[j], &b.Cols[j]
		if k.miss != 0 {
			if col.Miss == nil {
				col.Miss = make([]metric.Reason, len(g.rows))
			}
			col.Miss[i] = s.reasons[k.miss]
			if col.Strs != nil {
				col.Strs[i] = ""
			} else {
				col.Bits[i] = 0
			}
			continue
		}
		if col.Strs != nil {
			col.Strs[i] = s.strs[k.val]
		} else {
			col.Bits[i] = k.val
		}
	}
}
