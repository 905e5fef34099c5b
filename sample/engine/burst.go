package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
)

// Burst is classes that are read more often for a while.
type Burst struct {
	Classes []metric.Class
	Every   time.Duration
	For     time.Duration
	// Before is of how long before it what is in memory is recorded, see Plan.Before.
	Before time.Duration
}

// bursts is the one that goes on.
type bursts struct {
	mu      sync.Mutex
	classes []*class
	until   int64 // awake clock
}

// Burst begins one; the error says why it does not. It ends by itself, when its
// time is over or when what it may cost is used up, see Spare. Classes then go
// back to the deadlines that they had.
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

// bursting reports whether a burst goes on.
func (e *Engine) bursting(now metric.Stamp) bool {
	e.bursts.mu.Lock()
	defer e.bursts.mu.Unlock()
	return now.Awake < e.bursts.until
}

// afford ends the burst that goes on when there is nothing to spare for it.
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

// hurry has c read every so often until then; false when that is not more often
// than it is read anyway.
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
	} // else it is read soon, and not twice at the same instant
	c.wake()
	return true
}

// calm brings c back to its own interval, on the grid that it had; the caller
// holds mu.
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

// savedFor is how long what the budget leaves over is saved up, and thrifty how
// much of it there is when the recorder starts.
const (
	savedFor = time.Hour
	thrifty  = 10 * time.Minute
)

// Spare is the processor time that may be used now on what a trigger asks for,
// bursts and stacks: what the budget allowed during the last hour and the
// recorder did not use. Without a budget it is not bounded.
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

// left is what the budget leaves over of a time in which so much was used.
func (b *budget) left(elapsed int64, used time.Duration) time.Duration {
	return time.Duration(b.maxCPU*float64(elapsed)) - used
}

// save adds what was left over since the last look.
func (b *budget) save(elapsed int64, used time.Duration) {
	most := time.Duration(b.maxCPU * float64(savedFor))
	b.saved = min(max(b.saved+b.left(elapsed, used), -most), most)
}
