package engine

import (
	"fmt"
	"strconv"
	"time"

	"tachograph/sample/metric"
)

// partEvery is how often a class may report that a source had more instances than it could read
// at one tick.
const partEvery = 10 * time.Minute

// partTold is when a class last reported that, by source, on the awake clock.
type partTold map[string]int64

// tellPart reports, at most each partEvery, that a source could read only some of its instances
// in the time it had.
func (c *class) tellPart(source string, read, of int, had time.Duration) {
	now := c.e.clock.now()
	c.mu.Lock()
	last, told := c.parts[source]
	if told && time.Duration(now.Awake-last) < partEvery {
		c.mu.Unlock()
		return
	}
	if c.parts == nil {
		c.parts = make(partTold)
	}
	c.parts[source] = now.Awake
	c.mu.Unlock()
	text := fmt.Sprintf("%s: %d of %d instances of source %s were read in %s, the others follow at the next ticks", c.id, read, of, source, had)
	c.e.log.Warn(text)
	c.e.event(metric.Event{At: now, Kind: metric.EventOverrun, Text: text, Labels: []metric.Label{
		{Name: "class", Value: c.id.String()}, {Name: "source", Value: source},
		{Name: "read", Value: strconv.Itoa(read)}, {Name: "of", Value: strconv.Itoa(of)},
	}})
}
