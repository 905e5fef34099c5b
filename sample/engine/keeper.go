package engine

import (
	"context"
	"time"

	"tachograph/sample/metric"
)

const (
	lookEvery = time.Second
	// The rest is done every so many looks.
	policeEvery = 10
	zoneEvery   = 30
	calmEvery   = 3600
)

// keep is the keeper goroutine: it returns when ctx is done.
func (e *Engine) keep(ctx context.Context) {
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	for n := 1; ; n++ {
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
		if n%policeEvery == 0 {
			e.budget.police(now)
		}
		if n%calmEvery == 0 {
			e.calm()
		}
		if n%zoneEvery == 0 && e.opt.Zone != nil {
			zone := e.opt.Zone()
			e.watching.Lock()
			events := e.watch.lookAtZone(now, zone)
			e.watching.Unlock()
			e.tell(events)
		}
	}
}

// look watches the clocks. Every tick looks before it reads, so that a sleep
// is recorded before the first values after it.
func (e *Engine) look(now metric.Stamp) {
	e.watching.Lock()
	var events []metric.Event
	if now.Awake >= e.watch.last.Awake {
		events = e.watch.look(now)
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

func (e *Engine) tellMissed(now metric.Stamp, force bool) {
	for _, id := range read {
		c := e.classes[id]
		c.mu.Lock()
		ev, ok := c.missed.take(now, id, c.effective(), force)
		c.mu.Unlock()
		if ok {
			e.log.Warn(ev.Text)
			e.event(ev)
		}
	}
}
