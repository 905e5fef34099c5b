package main

import (
	"fmt"
	"strconv"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store"
	"tachograph/store/query"
)

// samplings returns the events of the sampling sessions that a profile covers.
func samplings(a query.Archive, p *stacks.Profile) []*store.Event {
	const second = 1e9
	var list []*store.Event
	// The event of a session is recorded when the session is over, at most stack.Longest after
	// its start.
	for e := range a.Events(p.From-second, p.To+int64(stack.Longest)+second, metric.EventStacks) {
		length, err := strconv.ParseFloat(e.Label("seconds"), 64)
		if err != nil || e.Archive.Host.ID != p.Host.ID || e.At.Wall-int64(length*second) > p.To {
			continue
		}
		list = append(list, e)
	}
	return list
}

// sessionText says when, how and why a session sampled stacks.
func (s *stacksAnswer) sessionText(e *store.Event) string {
	length, _ := strconv.ParseFloat(e.Label("seconds"), 64)
	text := fmt.Sprintf("sampled until %s for %.1f s", s.a.TimeOfDay(e.At.Wall), length)
	if rate := e.Label("rate"); rate != "" {
		text += ", " + rate + " times a second"
	}
	if how := e.Label("how"); how != "" {
		text += ", by " + how
	}
	if why := e.Label("reason"); why != "" {
		text += ": " + why
	}
	return text
}

// unmeasured says what a session could not measure at all, and why.
func unmeasured(e *store.Event) (list []string) {
	if why := e.Label("why_no_waits"); why != "" {
		list = append(list, why)
	}
	if why := e.Label("why_no_python"); why != "" {
		list = append(list, "functions of Python are missing: "+why)
	}
	return list
}

// samplings prints when, how and why stacks were sampled, and what was missed.
func (s *stacksAnswer) samplings(p *stacks.Profile) {
	const most = 3
	list := samplings(s.a.Archive, p)
	for _, e := range list[:min(len(list), most)] {
		text := s.sessionText(e)
		if n, err := strconv.Atoi(e.Label("missed")); err == nil && n > 0 {
			text += "; " + cli.Count(n, "look") + " came too late and were left out"
		}
		if n, err := strconv.Atoi(e.Label("failed")); err == nil && n > 0 {
			text += fmt.Sprintf("; %s could not be read", cli.Count(n, "thread"))
			if why := e.Label("why_failed"); why != "" {
				text += ": " + why
			}
		}
		for _, why := range unmeasured(e) {
			text += "; " + why
		}
		s.a.prose(text)
	}
	if more := len(list) - most; more > 0 {
		s.a.prose(fmt.Sprintf("and %s (replay events --kind stacks)", cli.Count(more, "sampling")))
	}
}
