package store

import "tachograph/sample/metric"

// A completer gives the metrics of journalled ticks the descriptions that the
// catalogue has for them: the journal leaves out what values do not need.
type completer struct {
	known map[string]*metric.Desc
	done  map[*metric.Group]bool
}

func (c *completer) learn(ds []*metric.Desc) {
	for _, d := range ds {
		c.known[d.Name] = d
	}
}

func (c *completer) tick(t *metric.Tick) {
	for _, b := range t.Blocks {
		if c.done[b.Group] {
			continue
		}
		if c.done == nil {
			c.done = make(map[*metric.Group]bool)
		}
		c.done[b.Group] = true
		for i, d := range b.Group.Metrics {
			k := c.known[d.Name]
			if k != nil && k.Type == d.Type && k.Sem == d.Sem && k.Units == d.Units && k.Indom == d.Indom &&
				k.Class == d.Class && k.Width == d.Width && k.Clamped == d.Clamped {
				b.Group.Metrics[i] = k
			}
		}
	}
}

// internIn returns the one instance with that key, making it if need be.
func internIn(insts map[string]*metric.Instance, indom, key string) *metric.Instance {
	k := indom + "\x00" + key
	in := insts[k]
	if in == nil {
		in = &metric.Instance{ID: uint64(len(insts)) + 1, Key: key}
		insts[k] = in
	}
	return in
}
