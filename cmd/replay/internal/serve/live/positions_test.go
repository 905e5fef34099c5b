package live

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/follow"
)

// TestStepsThatAClientHas goes over to the hub from a follower that was ahead of it, and took
// things in another order.
func TestStepsThatAClientHas(t *testing.T) {
	at := func(archive string, fast int64, churn, events uint64) follow.Position {
		p := follow.Position{Archive: archive, Churn: churn, Events: events}
		p.Ticks[metric.Fast] = fast
		return p
	}
	born, slept := &metric.Event{Kind: metric.EventProcessStart}, &metric.Event{Kind: metric.EventSleep}
	client := at("a", 10, 5, 3)
	for _, c := range []struct {
		name string
		step step
		hub  follow.Position
		has  bool
	}{
		{"a tick it has", step{tick: true, class: metric.Fast}, at("a", 10, 4, 3), true},
		{"the last tick it has, which takes the hub to where it is", step{tick: true, class: metric.Fast}, at("a", 10, 5, 3), true},
		{"a tick after it", step{tick: true, class: metric.Fast}, at("a", 11, 4, 3), false},
		{"the start of a process it has", step{event: born}, at("a", 9, 5, 3), true},
		{"the last start it has, which takes the hub to where it is", step{event: born}, at("a", 10, 5, 3), true},
		{"a start it has, behind an event that it lacks", step{event: born}, at("a", 9, 5, 4), true},
		{"a start after it", step{event: born}, at("a", 9, 6, 3), false},
		{"an event it has, behind a start that it lacks", step{event: slept}, at("a", 9, 6, 3), true},
		{"an event after it", step{event: slept}, at("a", 10, 5, 4), false},
		{"an earlier archive", step{tick: true, class: metric.Fast}, at("b", 99, 9, 9), true},
	} {
		c.step.State = &State{Position: c.hub}
		if got := has(&client, &c.step); got != c.has {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
