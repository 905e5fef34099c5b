package live

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// A Computer computes, tick by tick, the metrics that are never recorded from those that are,
// for callers that have ticks and not states.
type Computer struct {
	computer computer
	info     *archive.Info
	plan     *plan
	groups   []placed
	places   map[placeID]int
	serial   uint64
}

// begin prepares for ticks of the archive info. After another boot nothing is valid any more.
func (c *Computer) begin(info *archive.Info) {
	before := c.info
	c.info = info
	if before == nil || before.BootID != info.BootID || before.Host.ID != info.Host.ID || len(c.places) > maxPlaces {
		c.plan, c.groups, c.places = planOf(nil), nil, make(map[placeID]int)
		c.computer.begin(info)
	}
}

// Event processes an event: no rate is computed across some of them.
func (c *Computer) Event(info *archive.Info, e *metric.Event) {
	c.begin(info)
	c.computer.recent.Event(info, e)
}

// Tick processes a tick, and returns what is computed at it. The caller owns these blocks.
func (c *Computer) Tick(info *archive.Info, t *metric.Tick) []*metric.Block {
	c.begin(info)
	c.computer.recent.Tick(info, t)
	changed := false
	for _, b := range t.Blocks {
		id := idOf(t.Class, b.Group)
		i, ok := c.places[id]
		if ok && c.groups[i].group == b.Group {
			continue
		}
		if !changed {
			c.groups, changed = slices.Clone(c.groups), true
		}
		c.serial++
		if !ok {
			c.places[id] = len(c.groups)
			c.groups = append(c.groups, placed{})
			i = len(c.groups) - 1
		}
		c.groups[i] = placed{t.Class, b.Group, c.serial}
	}
	if changed {
		c.plan = planOf(c.groups)
	}
	c.computer.compile(c.plan, &info.Intervals)
	return c.computer.blocks(t.Class)
}
