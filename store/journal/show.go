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
		col.Bits, col.Miss = resize(col.Bits, n), nil
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}

// endBlock lends b the words that its rows may have added to.
func (s *state) endBlock(g *group, b *metric.Block) {
	for j := range b.Cols {
		if g.g.Metrics[j].Type == metric.String {
			b.Cols[j].Words = s.strs
		}
	}
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
			col.Bits[i] = 0
			continue
		}
		col.Bits[i] = k.val
	}
}
