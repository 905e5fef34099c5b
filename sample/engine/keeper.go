package engine

import (
	"context"
	"time"

	"tachograph/sample/metric"
)

const (
	// The keeper looks as often as the fastest class is read, within these limits.
	leastLook, mostLook = time.Second, 30 * time.Second
	policeEvery         = 10 * time.Second
	zoneEvery           = 30 * time.Second
	calmEvery           = time.Hour
)

// fastest is the shortest interval of any class.
func (e *Engine) fastest() time.Duration {
	fastest := time.Hour
	for _, id := range read {
		c := e.classes[id]
		c.mu.Lock()
		if interval := c.effective(); interval > 0 && len(c.sources) > 0 {
			fastest = min(fastest, interval)
		}
		c.mu.Unlock()
	}
	return fastest
}

// pace adapts the keeper to the intervals in force and returns how long to wait for the next
// look. A time shorter than three of the shortest intervals is lateness, not a gap.
func (e *Engine) pace() time.Duration {
	fastest := e.fastest()
	e.watching.Lock()
	e.watch.gap = 3 * int64(fastest)
	e.watching.Unlock()
	return min(max(fastest, leastLook), mostLook)
}

// chore is a periodic task of the keeper.
type chore struct {
	every time.Duration
	do    func(metric.Stamp)
	done  int64 // awake clock
}

// keep is the keeper goroutine: it returns when ctx is done.
func (e *Engine) keep(ctx context.Context) {
	began := e.clock.now().Awake
	chores := []*chore{
		{policeEvery, e.budget.police, began},
		{zoneEvery, e.lookAtZone, began},
		{calmEvery, e.calm, began},
	}
	timer := time.NewTimer(e.pace())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := e.clock.now()
		e.look(now)
		for _, id := range read {
			e.classes[id].check(now)
		}
		e.tellMissed(now, false)
		e.faults.settle(now)
		for _, c := range chores {
			if now.Awake-c.done >= int64(c.every) {
				c.done = now.Awake
				c.do(now)
			}
		}
		timer.Reset(e.pace())
	}
}

func (e *Engine) lookAtZone(now metric.Stamp) {
	if e.opt.Zone == nil {
		return
	}
	zone := e.opt.Zone()
	e.watching.Lock()
	events := e.watch.lookAtZone(now, zone)
	e.watching.Unlock()
	e.tell(events)
}

// look watches the clocks. Every tick calls it before it reads, so that a sleep is recorded
// before the first values after it.
func (e *Engine) look(now metric.Stamp) {
	e.watching.Lock()
	var events []metric.Event
	if now.Awake >= e.watch.last.Awake {
		events = e.watch.look(now)
	}
	// Count the ticks missed in the gap now, before the classes would count them as their own.
	for i := range events {
		switch events[i].Kind {
		case metric.EventGap:
			e.missedIn(&events[i], now)
		case metric.EventWake:
			select {
			case e.woke <- struct{}{}:
			default:
			}
		}
	}
	e.watching.Unlock()
	e.tell(events)
}

func (e *Engine) tell(events []metric.Event) {
	for _, ev := range events {
		e.log.Info(ev.Text, "event", string(ev.Kind))
		e.event(ev)
	}
}
