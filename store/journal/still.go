package journal

import "tachograph/sample/metric"

// Still is the result of an earlier comparison of a tick's blocks with earlier blocks of the
// same groups and class. Since[i] is the stamp of the earlier block that block i was
// compared with. Rows[i] says for each row of block i whether it has the same values as in
// that block. If the journal's last block of the group is the one at Since[i], it need not
// compare the rows again.
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
