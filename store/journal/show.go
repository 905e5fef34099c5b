package journal

import "tachograph/sample/metric"

// startBlock prepares b for the rows of g, which have just been decoded. If the rows are the
// same as in the block before, b still holds that block, and only changes are written into it.
func (s *state) startBlock(g *group, b *metric.Block) {
	b.Group = g.g
	if g.anew = g.anew || len(b.Cols) != len(g.cols); !g.anew {
		return
	}
	n := len(g.rows)
	b.Rows = b.Rows[:0]
	if len(b.Cols) != len(g.cols) {
		b.Cols = make([]metric.Column, len(g.cols))
	}
	for j := range b.Cols {
		col := &b.Cols[j]
		col.Bits, col.Miss = resize(col.Bits, n), nil
		g.cols[j].missing = 0
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}

// endBlock gives b the list of words, to which its rows may have added.
func (s *state) endBlock(g *group, b *metric.Block) {
	if !g.words {
		return
	}
	for j := range b.Cols {
		if g.cols[j].typ == metric.String {
			b.Cols[j].Words = s.strs
		}
	}
}

// show writes row r into row i of b.
func (s *state) show(g *group, r *row, b *metric.Block, i int) {
	b.Rows = append(b.Rows, r.inst.in)
	for j := range r.vals {
		s.showCell(g, r, b, i, j)
	}
}

// showCell writes cell j of r into row i of column j of b.
func (s *state) showCell(g *group, r *row, b *metric.Block, i, j int) {
	col, m := &b.Cols[j], &g.cols[j]
	if miss := r.miss[j]; miss != 0 {
		if col.Miss == nil {
			col.Miss = make([]metric.Reason, len(g.rows))
		}
		if col.Miss[i] == metric.Present {
			m.missing++
		}
		col.Miss[i], col.Bits[i] = s.reasons[miss], 0
		return
	}
	if col.Miss != nil && col.Miss[i] != metric.Present {
		col.Miss[i] = metric.Present
		if m.missing--; m.missing == 0 {
			col.Miss = nil
		}
	}
	col.Bits[i] = r.vals[j]
}
