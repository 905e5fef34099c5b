package journal

import (
	"errors"
	"fmt"

	"tachograph/sample/metric"
	"tachograph/store/fault"
)

// A Completer gives the metrics of journalled ticks the descriptions that the
// catalogue has for them: the journal leaves out what values do not need.
type Completer struct {
	Known map[string]*metric.Desc
	done  map[*metric.Group]bool
}

func (c *Completer) Learn(ds []*metric.Desc) {
	for _, d := range ds {
		c.Known[d.Name] = d
	}
}

func (c *Completer) Tick(t *metric.Tick) {
	for _, b := range t.Blocks {
		if c.done[b.Group] {
			continue
		}
		if c.done == nil {
			c.done = make(map[*metric.Group]bool)
		}
		c.done[b.Group] = true
		for i, d := range b.Group.Metrics {
			k := c.Known[d.Name]
			if k != nil && k.Type == d.Type && k.Sem == d.Sem && k.Units == d.Units && k.Indom == d.Indom &&
				k.Class == d.Class && k.Width == d.Width && k.Clamped == d.Clamped {
				b.Group.Metrics[i] = k
			}
		}
	}
}

// InternIn returns the one instance with that key, making it if need be.
func InternIn(insts map[string]*metric.Instance, indom, key string) *metric.Instance {
	k := indom + "\x00" + key
	in := insts[k]
	if in == nil {
		in = &metric.Instance{ID: uint64(len(insts)) + 1, Key: key}
		insts[k] = in
	}
	return in
}

// Hole says what is missing between two journal files.
func Hole(records uint64, from, to int64) error {
	return fmt.Errorf("the %d records before it are missing, %s", records, fault.Stretch(from, to))
}

// ErrEmptied says that a journal has lost everything.
var ErrEmptied = errors.New("it is empty: its beginning is written when it is made, so that what it held is lost")
