package engine

import (
	"fmt"
	"strconv"
	"time"

	"tachograph/sample/metric"
)

const (
	// leastSleep and leastStep distinguish sleep and steps from the slewing of a disciplined
	// clock.
	leastSleep = int64(500 * time.Millisecond)
	leastStep  = int64(250 * time.Millisecond)
	// leastGap is how long the recorder must not have run for it to be a gap rather than
	// lateness.
	leastGap = int64(10 * time.Second)
)

// watch finds what happened between two looks at the clocks: sleep, steps, and time in which the
// recorder did not run.
type watch struct {
	last metric.Stamp
	zone string
	// gap is how far apart two looks may be without it being a gap.
	gap int64
	// slept, if set, returns the wall clocks of the last sleep and wake as the kernel knows them.
	slept func() (sleep, wake time.Time, ok bool)
	// reason, if set, returns why the machine last woke.
	reason func() string
}

// look compares now with the last look and reports what happened between.
func (w *watch) look(now metric.Stamp) []metric.Event {
	last := w.last
	w.last = now
	if last == (metric.Stamp{}) {
		return nil
	}
	var events []metric.Event
	awake, cont, wall := now.Awake-last.Awake, now.Cont-last.Cont, now.Wall-last.Wall
	if asleep := cont - awake; asleep >= leastSleep {
		from, to := w.bounds(last, now, asleep)
		events = append(events,
			metric.Event{At: from, Kind: metric.EventSleep, Text: "the machine went to sleep"},
			w.wake(from, to, asleep))
	}
	if awake >= max(leastGap, w.gap) {
		events = append(events, ended(now, metric.EventGap, last, awake, "the recorder did not run for "+span(awake)))
	}
	// Disciplining may move the wall clock by one part in two thousand; twice that is allowed.
	if step := wall - cont; step > leastStep+cont/1000 || -step > leastStep+cont/1000 {
		e := metric.Event{At: now, Kind: metric.EventClockStep, Labels: []metric.Label{{Name: "step", Value: seconds(step)}}}
		if step > 0 {
			e.Text = "the wall clock was set forward by " + span(step)
		} else {
			e.Text = "the wall clock was set back by " + span(-step)
		}
		events = append(events, e)
	}
	return events
}

// wake makes the event of a wake. Its reason shows what macOS calls a dark wake, in which the
// machine works without the user.
func (w *watch) wake(from, to metric.Stamp, asleep int64) metric.Event {
	e := ended(to, metric.EventWake, from, asleep, "the machine woke after "+span(asleep))
	if w.reason != nil {
		if why := w.reason(); why != "" {
			e.Text += ": " + why
			e.Labels = append(e.Labels, metric.Label{Name: "reason", Value: why})
		}
	}
	return e
}

// bounds returns when between two looks the machine fell asleep and woke.
func (w *watch) bounds(last, now metric.Stamp, asleep int64) (from, to metric.Stamp) {
	if w.slept == nil {
		return last, now
	}
	sleep, _, ok := w.slept()
	before := sleep.UnixNano() - last.Wall
	if !ok || before < 0 || before > now.Awake-last.Awake {
		return last, now
	}
	from = metric.Stamp{Wall: last.Wall + before, Awake: last.Awake + before, Cont: last.Cont + before}
	after := now.Awake - from.Awake
	to = metric.Stamp{Wall: now.Wall - after, Awake: from.Awake, Cont: now.Cont - after}
	return from, to
}

// lookAtZone reports a change of the time zone.
func (w *watch) lookAtZone(now metric.Stamp, zone string) []metric.Event {
	old := w.zone
	w.zone = zone
	if old == "" || zone == "" || old == zone {
		return nil
	}
	return []metric.Event{{
		At: now, Kind: metric.EventTimeZone,
		Text:   fmt.Sprintf("the time zone changed from %s to %s", old, zone),
		Labels: []metric.Label{{Name: "from", Value: old}, {Name: "to", Value: zone}},
	}}
}

// ended makes the event of a period that began at from.
func ended(at metric.Stamp, kind metric.EventKind, from metric.Stamp, length int64, text string) metric.Event {
	return metric.Ended(at, kind, from.Time(), time.Duration(length), text)
}

func seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64) }

// span prints a length of time for people, in about three digits.
func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
