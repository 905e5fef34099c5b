package platform

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
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
	return history(past, booted, shutdownReason(), panicReports(), fileTime)
}

// history builds the timeline: events about the end of the last boot lie between the last tick
// and the new boot.
func history(past, booted time.Time, reason string, reports []string, modified func(string) time.Time) []metric.Event {
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
	for _, path := range reports {
		at := modified(path)
		// Reports are written while or after the machine comes up again.
		if past.IsZero() && at.Before(booted) || at.Before(past) {
			continue
		}
		events = append(events, metric.Event{
			At: metric.Stamp{Wall: down.UnixNano()}, Kind: metric.EventPanic, Text: "the kernel left a panic report: " + path,
			Labels: []metric.Label{label("report", path), label("written", at.UTC().Format(time.RFC3339))},
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

func fileTime(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// matching lists the files that match one of some globs, sorted.
func matching(globs ...string) []string {
	var found []string
	for _, g := range globs {
		m, _ := filepath.Glob(g)
		found = append(found, m...)
	}
	sort.Strings(found)
	return found
}
