package journal

import "tachograph/sample/metric"

// Still is what another comparison of a tick's blocks has already found: which rows of each
// block hold the same values as in the block of the same group, in a tick of the same class,
// that was at Since. A journal whose last block is that same block need not compare those rows
// again.
type Still struct {
	Since []metric.Stamp
	Rows  [][]bool
}

// rows returns the rows of block i, a block of g, if they were compared with the last block of
// g.
func (s *Still) rows(i int, g *group, cl metric.Class) []bool {
	if s == nil || g.class != cl || g.before != s.Since[i] {
		return nil
	}
	return s.Rows[i]
}
