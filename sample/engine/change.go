package engine

import (
	"errors"
	"fmt"
	"time"

	"tachograph/sample/metric"
)

// Apply switches to another plan without losing a tick: readings under way finish, and the next
// deadlines are counted from the last ones.
func (e *Engine) Apply(p Plan) error {
	e.planning.Lock()
	defer e.planning.Unlock()
	e.plan = p
	var left []string
	for _, s := range e.sources {
		if !e.withTurn(s, func() { s.plan(&e.plan) }) {
			left = append(left, s.name)
		}
	}
	e.budget.limit(p)
	e.adopt(false)
	if len(left) > 0 {
		return fmt.Errorf("sources that do not answer keep the old plan: %v", left)
	}
	return nil
}

// Renew calls turn, which begins a new archive, while the plan is fixed and no static metric is
// being read. Then it looks again at what the machine has and reads the static metrics, so that
// the new archive describes the machine. Ticks continue meanwhile.
func (e *Engine) Renew(turn func() error) error {
	e.planning.Lock()
	defer e.planning.Unlock()
	e.storing.Lock()
	closed := e.closed
	e.storing.Unlock()
	if closed {
		return errors.New("the recorder is stopping")
	}
	e.classes[metric.Static].settle(settleWithin)
	if err := turn(); err != nil {
		return err
	}
	e.refresh(e.sources)
	e.adopt(true)
	return nil
}

// settleWithin is how long Renew waits for a reading of static metrics to finish: it belongs to
// the archive in which it began.
const settleWithin = 5 * time.Second

// restless is a source that may find out between two archives that its groups should be
// different.
type restless interface{ Restless() bool }

// calm makes restless sources look again.
func (e *Engine) calm(metric.Stamp) {
	var again []*source
	for _, s := range e.sources {
		if r, ok := s.Source.(restless); ok {
			e.withTurn(s, func() {
				if r.Restless() {
					again = append(again, s)
				}
			})
		}
	}
	if len(again) == 0 {
		return
	}
	e.planning.Lock()
	defer e.planning.Unlock()
	e.refresh(again)
	e.adopt(false)
}

// refresh makes sources look again. It describes changed metrics and stores events about what
// came and went. It returns the sources that changed. The caller holds planning.
func (e *Engine) refresh(sources []*source) (others []*source) {
	var changed []*metric.Desc
	var events []metric.Event
	for _, s := range sources {
		e.withTurn(s, func() {
			old := s.groups
			again, err := s.regroup(&e.plan)
			if err != nil {
				e.faults.report(e.clock.now(), time.Minute, "source "+s.name, err.Error())
			}
			if again {
				for _, g := range s.groups {
					changed = append(changed, g.Metrics...)
				}
				others = append(others, s)
				events = append(events, found(s.name, old, s.groups)...)
			}
		})
	}
	if len(changed) == 0 {
		return nil
	}
	e.storing.Lock()
	err := e.opt.Sink.Describe(changed)
	e.storing.Unlock()
	if err != nil {
		e.log.Warn("the description of metrics could not be stored", "error", err)
	}
	e.tell(events)
	return others
}

// withTurn calls do while no reading uses the source. It gives up and returns false when the
// source is not free within a second.
func (e *Engine) withTurn(s *source, do func()) bool {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
	case <-timer.C:
		return false
	}
	defer func() { <-s.turn }()
	do()
	return true
}
