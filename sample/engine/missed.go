package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// missedTicks collects the deadlines that a class missed, so that an overloaded machine gives
// one event a minute and not one a tick.
type missedTicks struct {
	count      uint64
	from, last metric.Stamp
}

// add records n missed deadlines, the first of them late by late nanoseconds.
func (m *missedTicks) add(n uint64, now metric.Stamp, late int64) {
	if m.count == 0 {
		m.from = metric.Stamp{Wall: now.Wall - late, Awake: now.Awake - late, Cont: now.Cont - late}
	}
	m.count += n
	m.last = now
}

// skip moves past the missed deadlines and returns their number and how long ago the first was
// due. The caller holds mu.
func (c *class) skip(now metric.Stamp) (n uint64, late int64) {
	if c.ahead != 0 && c.burst == 0 {
		return c.skipGlances(now)
	}
	interval := int64(c.effective())
	if interval == 0 || interval == int64(metric.Once) || len(c.sources) == 0 {
		return 0, 0
	}
	late = now.Awake - c.deadline
	if late <= 0 {
		return 0, 0
	}
	n = uint64((late + interval/2) / interval)
	if n > 0 {
		c.deadline += int64(n) * interval
		c.behind = max(c.behind, late)
	}
	if c.burst != 0 {
		// A burst is as fast as the machine can. Count only what would have been missed without
		// it.
		n = uint64(late / int64(c.usual()))
	}
	c.stats.Overruns += n
	return n, late
}

// skipGlances is skip for a class that is also read into memory. Only ticks to be recorded count
// as missed.
func (c *class) skipGlances(now metric.Stamp) (n uint64, late int64) {
	interval, ahead := int64(c.effective()), int64(c.ahead)
	if late = now.Awake - c.grid; late > 0 {
		n = uint64((late + interval/2) / interval)
	}
	if n > 0 {
		c.grid += int64(n) * interval
		c.behind = max(c.behind, late)
		c.stats.Overruns += n
	}
	if behind := now.Awake - c.deadline; behind >= ahead {
		c.deadline = min(c.deadline+behind/ahead*ahead, c.grid)
	}
	return n, late
}

// missedIn skips what all classes missed while the recorder did not run, and adds the counts to
// the labels of the gap's event: one stop of the machine is one event.
func (e *Engine) missedIn(gap *metric.Event, now metric.Stamp) {
	for _, id := range read {
		c := e.classes[id]
		c.mu.Lock()
		n, _ := c.skip(now)
		c.mu.Unlock()
		if n > 0 {
			gap.Labels = append(gap.Labels, metric.Label{Name: id.String(), Value: strconv.FormatUint(n, 10)})
			c.wake()
		}
	}
}

const (
	// A stop reaches the classes one after the other. Their misses are reported when no class has
	// missed anything for missedQuiet,
	missedQuiet = time.Second
	// or while it goes on, and never more often than missedEvery.
	missedEvery = time.Minute
)

// tellMissed stores one event about what all classes missed.
func (e *Engine) tellMissed(now metric.Stamp, force bool) {
	var first, last metric.Stamp
	for _, id := range read {
		c := e.classes[id]
		c.mu.Lock()
		if m := c.missed; m.count > 0 {
			if first == (metric.Stamp{}) || m.from.Awake < first.Awake {
				first = m.from
			}
			if m.last.Awake > last.Awake {
				last = m.last
			}
		}
		c.mu.Unlock()
	}
	if last == (metric.Stamp{}) {
		return
	}
	goesOn := time.Duration(now.Awake-last.Awake) < missedQuiet && time.Duration(now.Awake-first.Awake) < missedEvery
	soon := e.missedTold != 0 && time.Duration(now.Awake-e.missedTold) < missedEvery
	if !force && (goesOn || soon) {
		return
	}
	e.missedTold = now.Awake
	var words []string
	var labels []metric.Label
	for _, id := range read {
		c := e.classes[id]
		c.mu.Lock()
		n := c.missed.count
		c.missed.count = 0
		c.mu.Unlock()
		if n == 0 {
			continue
		}
		ticks := "ticks"
		if n == 1 {
			ticks = "tick"
		}
		words = append(words, fmt.Sprintf("%d %s of %s", n, ticks, id))
		labels = append(labels, metric.Label{Name: id.String(), Value: strconv.FormatUint(n, 10)})
	}
	ev := ended(last, metric.EventOverrun, first, last.Cont-first.Cont, "missed "+strings.Join(words, ", ")+": the machine or a source was too slow")
	ev.Labels = append(ev.Labels, labels...)
	e.log.Warn(ev.Text)
	e.event(ev)
}
