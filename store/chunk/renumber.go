package chunk

import "tachograph/sample/metric"

// Renumber makes a chunk of c for another archive, which has other numbers for the same
// metrics.
func Renumber(c *Chunk, desc func(number uint32) *metric.Desc, number func(*metric.Desc) uint32) (*Sealed, error) {
	t, err := c.table(desc)
	if err != nil {
		return nil, err
	}
	for _, g := range t.groups {
		for i := range g.metrics {
			g.metrics[i].number = number(g.metrics[i].desc)
		}
		g.arrange()
	}
	return t.seal()
}
