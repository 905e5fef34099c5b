package engine

import (
	"fmt"

	"tachograph/sample/metric"
)

// lapse describes metrics that have had values and are absent now because a call failed,
// although the source as a whole could be read; "" when there are none. Only metrics with one
// value count: a process that cannot be read is no failure of the source.
func (m *member) lapse() string {
	first, n := "", 0
	var why metric.Reason
	for i, f := range m.frames {
		b := f.Block()
		if b.Group.Indom != metric.NoIndom || len(b.Rows) == 0 {
			continue
		}
		if m.had[i] == nil {
			m.had[i] = make([]bool, len(b.Cols))
		}
		for col := range b.Cols {
			miss := b.Cols[col].Miss
			if miss == nil || miss[0] == metric.Present {
				m.had[i][col] = true
			} else if m.had[i][col] && miss[0].Failure() {
				if n++; n == 1 {
					first, why = b.Group.Metrics[col].Name, miss[0]
				}
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s (%s is absent)", why, first)
	}
	return fmt.Sprintf("%s (%s and %d more are absent)", why, first, n-1)
}
