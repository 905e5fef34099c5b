package chunk

import (
	"slices"

	"tachograph/sample/metric"
)

// An Outline collects, without decoding rows, when the ticks of a chunk were and which metrics they
// have.
type Outline struct {
	info   Info
	groups []*metric.Group
	last   []*metric.Group // of the last tick
}

// Add adds a tick, whose blocks need no rows.
func (o *Outline) Add(t *metric.Tick) {
	if o.info.Ticks == 0 {
		o.info.Class, o.info.First, o.info.From, o.info.To = t.Class, t.At, t.At.Wall, t.At.Wall
	}
	o.info.Ticks++
	o.info.Last = t.At
	o.see(t.At.Wall)
	same := len(o.last) == len(t.Blocks)
	for i, b := range t.Blocks {
		o.see(b.At.Wall)
		same = same && o.last[i] == b.Group
	}
	if same {
		return
	}
	o.last = o.last[:0]
	for _, b := range t.Blocks {
		o.last = append(o.last, b.Group)
		if !slices.Contains(o.groups, b.Group) {
			o.groups = append(o.groups, b.Group)
		}
	}
}

func (o *Outline) see(wall int64) {
	o.info.From, o.info.To = min(o.info.From, wall), max(o.info.To, wall)
}

// Groups returns the groups that the ticks have.
func (o *Outline) Groups() []*metric.Group { return o.groups }

// Info returns the chunk's index entry, without Values.
func (o *Outline) Info(number func(*metric.Desc) uint32) Info {
	t := new(table)
	for _, g := range o.groups {
		gt := &groupTable{name: g.Name, indom: g.Indom}
		for _, d := range g.Metrics {
			gt.metrics = append(gt.metrics, column{number: number(d)})
		}
		t.groups = append(t.groups, gt)
	}
	in := o.info
	in.Schema = t.schema()
	return in
}
