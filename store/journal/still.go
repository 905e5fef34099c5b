package journal

import "tachograph/sample/metric"

// Still is what somebody else who compares blocks has found out of a tick: which
// rows of each block hold what they held in the block of the same group, in a tick
// of the same class, that was at Since. A journal of which that is the last block,
// too, need not compare them again.
type Still struct {
	Since []metric.Stamp
	Rows  [][]bool
}

// rows are those of block i, which is of g, if the last block of g is the one that
// they were compared with.
func (s *Still) rows(i int, g *group, cl metric.Class) []bool {
	if s == nil || g.class != cl || g.before != s.Since[i] {
		return nil
	}
	return s.Rows[i]
}
