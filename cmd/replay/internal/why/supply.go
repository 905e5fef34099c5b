package why

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	// emptying is the charge in percent at which systems begin to save the rest.
	emptying = 10
	// slowed is the part of their clock rate below which busy processors count as held back, and
	// busily how busy they must be: idle ones slow down by themselves.
	slowed, busily = 0.8, 0.5
	// hotLeast is the temperature from which on heat may be the reason.
	hotLeast = 80
)

// supply finds what the machine itself was short of: power, and the clock rate of its processors.
func (q *question) supply() ([]*finding, error) {
	var out []*finding
	for _, f := range []*finding{q.drained(), q.slowClock()} {
		if f != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

// battery returns the charge at an instant, in percent.
func (q *question) battery(at int64) (float64, bool) { return q.latest("battery", at) }

// latest returns the last value of a signal until an instant.
func (q *question) latest(name string, at int64) (float64, bool) {
	if q.field == nil {
		return 0, false
	}
	for _, c := range q.field.of[name] {
		for k := min(q.field.slot(at), q.field.n-1); k >= 0; k-- {
			if x := c.x[k]; x == x {
				return x, true
			}
		}
	}
	return 0, false
}

// drained finds a battery that was nearly empty while nothing else powered the machine.
func (q *question) drained() *finding {
	for _, c := range q.field.of["battery"] {
		lo, hi := q.field.slots(q.w)
		low, at := math.Inf(1), -1
		first := -1
		for k := lo; k < hi; k++ {
			if !(c.x[k] <= emptying) {
				continue
			}
			if mains, ok := q.latest("mains", q.field.begin(k+1)); ok && mains > 0 {
				continue
			}
			if first < 0 {
				first = k
			}
			if c.x[k] <= low {
				low, at = c.x[k], k
			}
		}
		if at < 0 {
			return nil
		}
		f := &finding{kind: "battery", who: "battery", topic: "power", cause: true, since: q.field.begin(first), until: q.field.begin(at + 1),
			weight: grade(0.45, 0.3*(emptying-low)/emptying), more: append([]string{"values", "power.battery.charge"}, span(q.w.From, q.w.To)...)}
		f.text = fmt.Sprintf("the battery was nearly empty: %s at %s, and the machine was not on mains power", human.Value(low, metric.Percent, false), q.show(f.until))
		return f
	}
	return nil
}

// slowClock finds processors that were busy and ran far below their clock rate.
func (q *question) slowClock() *finding {
	for _, clock := range q.field.of["clock"] {
		for _, busy := range q.field.of["cpu"] {
			work := func(k int) float64 { return mean(busy.x[max(k-clock.gap+1, 0) : k+1]) }
			var wanted []float64
			for k, x := range clock.x {
				if x == x && work(k) >= busily {
					wanted = append(wanted, x)
				}
			}
			top := quantile(wanted, 0.98)
			slow := &course{signal: clock.signal, gap: clock.gap, x: slices.Clone(clock.x)}
			lo, hi := q.field.slots(q.w)
			var speeds []float64
			for k, x := range clock.x {
				if x != x {
					continue
				}
				slow.x[k] = 0
				if work(k) >= busily && x < slowed*top {
					if slow.x[k] = 1 - x/top; k >= lo && k < hi {
						speeds = append(speeds, x)
					}
				}
			}
			e := q.find(slow, 1-slowed, func(x float64) float64 { return x })
			if e == nil || q.field.duration(e) < holdsLeast {
				return nil
			}
			since, until := q.field.times(e)
			f := &finding{kind: "clock speed", who: "clock speed", topic: "clock speed", cause: true, since: since, until: until, weight: q.field.worth(e, 0.75, min(2*e.level, 1)),
				explains: []string{"cpu", "load"}, more: append([]string{"rates", "hinv.cpu.clock"}, span(q.w.From, q.w.To)...)}
			f.text = fmt.Sprintf("the processors were held back: %s MHz of %s MHz while they were busy%s", human.Figures(math.Round(quantile(speeds, 0.5))),
				human.Figures(math.Round(top)), q.when(since, until))
			if hottest, ok := q.hottest(since, until); ok && hottest < hotLeast {
				f.text += fmt.Sprintf(", not for heat (at most %s)", human.Value(hottest, metric.Units{Other: "C"}, false))
			}
			return f
		}
	}
	return nil
}

// hottest returns the highest temperature of the processor from one instant to another.
func (q *question) hottest(since, until int64) (float64, bool) {
	lo, hi := q.field.slots(query.Window{From: since, To: until})
	for _, c := range q.field.of["temperature"] {
		if x := quantile(c.x[lo:max(hi, lo)], 1); x == x {
			return x, true
		}
	}
	return 0, false
}

// cooled moves what the kernel itself (process 0 of macOS) computes while the system throttles
// against heat to the finding about heat: it takes time from other processes so that the
// processors cool, and is not the cause of the heat.
func cooled(all []*finding, slack int64) []*finding {
	i := slices.IndexFunc(all, func(f *finding) bool { return f.topic == "thermal" && f.weight >= leastWeight })
	if i < 0 {
		return all
	}
	heat := all[i]
	return slices.DeleteFunc(all, func(f *finding) bool {
		if f.kind != "runaway" || !strings.Contains(f.title, " (pid 0") || f.since > heat.until+slack || f.until+slack < heat.since {
			return false
		}
		heat.weight = max(heat.weight, min(f.weight+0.02, 1))
		heat.text += "; " + f.title + " took the processors from others so that they cool"
		return true
	})
}
