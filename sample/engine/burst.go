package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
)

// Burst reads some classes more often for a while.
type Burst struct {
	Classes []metric.Class
	Every   time.Duration
	For     time.Duration
	// Before is how much of the past to record from memory, see Plan.Before.
	Before time.Duration
}

// bursts holds the current burst.
type bursts struct {
	mu      sync.Mutex
	classes []*class
	until   int64 // awake clock
}

// Burst begins a burst; the error says why it cannot. It ends by itself when its time is over or
// when the processor time that it may cost is used up, see Spare. The classes then return to
// their previous deadlines.
func (e *Engine) Burst(b Burst) error {
	now := e.clock.now()
	if spare, bounded := e.Spare(); bounded && spare <= 0 {
		return errors.New("the recorder's budget has nothing to spare")
	}
	e.bursts.mu.Lock()
	defer e.bursts.mu.Unlock()
	if now.Awake < e.bursts.until {
		return errors.New("another burst goes on")
	}
	e.bursts.classes = e.bursts.classes[:0]
	until := now.Awake + int64(b.For)
	for _, id := range b.Classes {
		if c := e.classes[id]; c != nil && c.hurry(b.Every, until, now) {
			e.bursts.classes = append(e.bursts.classes, c)
		}
	}
	if len(e.bursts.classes) == 0 {
		return errors.New("none of its classes is read less often than that")
	}
	e.bursts.until = until
	if b.Before > 0 && e.opt.Late != nil {
		for _, c := range e.bursts.classes {
			e.recall(c, now.Awake-int64(b.Before))
		}
	}
	return nil
}

// bursting reports whether a burst is going on.
func (e *Engine) bursting(now metric.Stamp) bool {
	e.bursts.mu.Lock()
	defer e.bursts.mu.Unlock()
	return now.Awake < e.bursts.until
}

// afford ends the current burst when Spare has nothing left for it.
func (e *Engine) afford(now metric.Stamp) {
	spare, bounded := e.Spare()
	if !bounded || spare > 0 {
		return
	}
	e.bursts.mu.Lock()
	if now.Awake >= e.bursts.until {
		e.bursts.mu.Unlock()
		return
	}
	e.bursts.until = now.Awake
	var names []string
	for _, c := range e.bursts.classes {
		c.mu.Lock()
		c.calm(now)
		c.wake()
		c.mu.Unlock()
		names = append(names, c.id.String())
	}
	e.bursts.mu.Unlock()
	text := fmt.Sprintf("%s: the burst was ended early: what the recorder's budget had to spare is used up", strings.Join(names, ", "))
	e.log.Warn(text)
	e.event(metric.Event{At: now, Kind: metric.EventBudget, Text: text})
}

// hurry makes c's interval every until the given time. It returns false when c is read that
// often anyway.
func (c *class) hurry(every time.Duration, until int64, now metric.Stamp) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interval == 0 || c.interval == metric.Once || len(c.sources) == 0 || c.effective() <= every {
		return false
	}
	c.burst, c.burstUntil = every, until
	if c.ahead == 0 {
		c.grid = c.deadline
		c.replan(now)
	} // else it is read soon anyway, and not twice at the same instant
	c.wake()
	return true
}

// calm returns c to its own interval, on its previous grid. The caller holds mu.
func (c *class) calm(now metric.Stamp) {
	if c.burst == 0 {
		return
	}
	c.burst = 0
	if interval := int64(c.effective()); interval > 0 && interval != int64(metric.Once) {
		if behind := now.Awake - c.grid; behind > 0 {
			c.grid += (behind + interval - 1) / interval * interval
		}
		c.deadline = c.grid
		if c.ahead != 0 {
			c.deadline = min(c.grid, now.Awake+int64(c.ahead))
		}
	}
}

// savedFor is the time whose unused budget can be saved up at most. At its start the recorder
// has the budget of the time thrifty.
const (
	savedFor = time.Hour
	thrifty  = 10 * time.Minute
)

// Spare is the processor time that triggers may use now for bursts and stacks: what the budget
// allowed during the last hour and the recorder did not use. Without a budget it is not bounded.
func (e *Engine) Spare() (spare time.Duration, bounded bool) {
	b := &e.budget
	if e.opt.Usage == nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maxCPU == 0 {
		return 0, false
	}
	if b.at == 0 {
		return time.Duration(b.maxCPU * float64(thrifty)), true
	}
	u := e.opt.Usage()
	return b.saved + b.left(e.clock.now().Awake-b.at, u.User+u.System-b.cpu), true
}

// left is the unused budget of a time in which the recorder used so much.
func (b *budget) left(elapsed int64, used time.Duration) time.Duration {
	return time.Duration(b.maxCPU*float64(elapsed)) - used
}

// save adds the unused budget since the last look.
func (b *budget) save(elapsed int64, used time.Duration) {
	most := time.Duration(b.maxCPU * float64(savedFor))
	b.saved = min(max(b.saved+b.left(elapsed, used), -most), most)
}
