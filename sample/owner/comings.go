package owner

import (
	"fmt"
	"time"

	"tachograph/sample/metric"
)

// Settled is how long an owner must have been there before an event reports it: a machine may
// have thousands that live for a moment.
const Settled = int64(10 * time.Second)

// mostComings is how many owners that come and go have an event each in a minute.
const mostComings = 10

// Comings bounds the events of owners that come and go. The clock is the continuous one.
type Comings struct {
	since      int64
	told       int
	came, gone int // without an event
}

// Came reports whether one more owner that came gets an event of its own.
func (c *Comings) Came() bool { return c.tell(&c.came) }

// Went reports the same of one that went.
func (c *Comings) Went() bool { return c.tell(&c.gone) }

func (c *Comings) tell(without *int) bool {
	if c.told++; c.told > mostComings {
		*without++
		return false
	}
	return true
}

// Rest begins another minute if the last one is over, and then returns an event about the owners
// that got none.
func (c *Comings) Rest(now int64, indom string) (e metric.Event, ok bool) {
	if now-c.since < int64(time.Minute) && now >= c.since {
		return e, false
	}
	if c.came+c.gone > 0 {
		e, ok = metric.Event{Kind: metric.EventOwner, Indom: indom,
			Text:   fmt.Sprintf("%d more owners came and %d went, too many for an event each", c.came, c.gone),
			Labels: []metric.Label{{Name: metric.OwnerWhat, Value: metric.OwnerCame}, {Name: metric.OwnerCame, Value: fmt.Sprint(c.came)}, {Name: metric.OwnerWent, Value: fmt.Sprint(c.gone)}}}, true
	}
	*c = Comings{since: now}
	return e, ok
}
