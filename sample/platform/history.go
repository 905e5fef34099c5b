package platform

import (
	"fmt"
	"time"

	"tachograph/sample/metric"
)

// History returns events about what happened to the machine between the last tick of an earlier
// run and now. The past is zero when there was no earlier recording.
func History(past time.Time, sameBoot bool) []metric.Event {
	if sameBoot {
		return nil
	}
	now := Now()
	booted := time.Unix(0, now.Wall-now.Cont)
	return history(past, booted, shutdownReason())
}

// history builds the timeline: events about the end of the last boot lie between the last tick
// and the new boot.
func history(past, booted time.Time, reason string) []metric.Event {
	down := past
	if down.IsZero() || down.After(booted) {
		down = booted
	}
	var events []metric.Event
	if reason != "" {
		events = append(events, metric.Event{
			At: metric.Stamp{Wall: down.UnixNano()}, Kind: metric.EventShutdown, Text: "the machine went down: " + reason,
			Labels: []metric.Label{label("reason", reason)},
		})
	}
	text := "the machine was started"
	var labels []metric.Label
	switch length := booted.Sub(past); {
	case past.IsZero():
	case length < 0:
		text = "the machine was started, and its wall clock was set back: how long it was off is not known"
	default:
		text = fmt.Sprintf("the machine was started, %s after the last that was recorded", length.Round(time.Second))
		labels = metric.Period(past, length)
	}
	return append(events, metric.Event{At: metric.Stamp{Wall: booted.UnixNano()}, Kind: metric.EventBoot, Text: text, Labels: labels})
}
