package query

import (
	"fmt"
	"maps"

	"tachograph/sample/metric"
	"tachograph/store"
)

// missedTicks is how many intervals of its class may pass between two values
// before the time between them counts as a gap.
const missedTicks = 4

// implausibleWrap is how much larger than its neighbours the gain of a wrapped
// counter may be before it is taken for a reset.
const implausibleWrap = 64

// Reasons why there is no rate where there is a value.
var (
	whyFirst     = metric.ReasonFor("first value")
	whyReset     = metric.ReasonFor("counter was reset")
	whySaturated = metric.ReasonFor("counter stands at its limit")
	whyBoot      = metric.ReasonFor("no rate across a reboot")
	whyGap       = metric.ReasonFor("no rate across a gap")
	whyOther     = metric.ReasonFor("no rate across a change of the device")
	whyClock     = metric.ReasonFor("no time passed")
	whyNaN       = metric.ReasonFor("not a number")
	whyNoSample  = metric.ReasonFor("no sample")
)

func whyBroken(kind metric.EventKind) metric.Reason {
	return metric.ReasonFor("no rate across " + string(kind))
}

// Note describes something that a computation bridged or dropped, for people who ask for an
// explanation.
type Note struct {
	Metric     *metric.Desc
	Instance   *metric.Instance
	Prev, Wall int64
	Text       string
}

// lastReading is the last present value of a series.
type lastReading struct {
	store.Point
	archive *store.ArchiveInfo
	// spacing holds the last two distances between values: a class whose interval was stretched
	// shows such a distance twice.
	spacing [2]int64
	lastInc float64
	debt    metric.Debt
	missing bool // an absent value followed
}

// lastReadings are the last readings of series: by what the series of a metric share, then by their keys. Most
// lookups are of the same metric as before.
type lastReadings map[seriesID]map[string]*lastReading

// of returns the last readings of the series that differ from id by their keys alone.
func (l lastReadings) of(id seriesID) map[string]*lastReading {
	id.key = ""
	if l[id] == nil {
		l[id] = make(map[string]*lastReading)
	}
	return l[id]
}

// len returns the number of series.
func (l lastReadings) len() (n int) {
	for _, of := range l {
		n += len(of)
	}
	return n
}

// drop drops the series that drop says.
func (l lastReadings) drop(drop func(id seriesID, r *lastReading) bool) {
	for id, of := range l {
		maps.DeleteFunc(of, func(_ string, r *lastReading) bool { return drop(id, r) })
	}
}

// gainer turns the values of counters into gains, remembering each series'
// last value from run to run and from archive to archive.
type gainer struct {
	breaks breaks
	note   func(Note)
	last   lastReadings

	// The current series.
	archive  *store.ArchiveInfo
	metric   *metric.Desc
	instance *metric.Instance
	cur      *lastReading
	machine  []breakpoint // of the whole machine
	own      []breakpoint // of the instance
	interval int64
	known    map[string]*lastReading // of the metric, by the keys of its instances
}

func newGainer(b breaks, note func(Note)) *gainer {
	return &gainer{breaks: b, note: note, last: make(lastReadings)}
}

// turn makes a series the current one.
func (g *gainer) turn(archive *store.ArchiveInfo, d *metric.Desc, in *metric.Instance) {
	if g.archive == archive && g.metric == d && g.instance == in && g.cur != nil {
		return
	}
	if g.archive != archive || g.metric != d {
		g.machine = g.breaks.of(archive)
		g.interval = interval(archive, d.Class)
		g.known = g.last.of(idOf(archive, d, in))
	}
	g.archive, g.metric, g.instance = archive, d, in
	g.own = g.breaks.ofInstance(archive, d.Indom, in)
	key := ""
	if in != nil {
		key = in.Key
	}
	g.cur = g.known[key]
	if g.cur == nil {
		g.cur = &lastReading{}
		g.known[key] = g.cur
	}
}

// absent records that a tick had no value.
func (g *gainer) absent() { g.cur.missing = true }

// gain returns how much the current counter gained up to p, and in how many seconds; why is set
// when there is no rate.
func (g *gainer) gain(p store.Point) (inc, seconds float64, why metric.Reason) {
	prev, elapsed, why := g.pass(p)
	if why != metric.Present {
		if why == whyFirst || why == whyBoot || why == whyOther {
			g.cur.debt = 0
			return 0, 0, why
		}
		// The counter may have fallen or caught up in that time, so the debt must follow.
		inc, step := metric.Increase(g.metric, prev.Bits, p.Bits, 0)
		g.cur.debt.Pay(inc, step)
		return 0, 0, why
	}
	inc, step := metric.Increase(g.metric, prev.Bits, p.Bits, elapsed)
	inc = g.cur.debt.Pay(inc, step)
	switch step {
	case metric.Advanced:
		if prev.missing && g.note != nil {
			g.tell(&prev, p, "values are absent in between: the rate is over the whole time")
		}
	case metric.Wrapped:
		if bits := g.metric.Bits(); inc > float64(uint64(1)<<(bits-2)) && inc > implausibleWrap*(prev.lastInc+1) {
			g.tell(&prev, p, "fell; a wrap would be an absurd gain, so it was reset: no rate")
			return 0, 0, whyReset
		}
		if g.note != nil {
			g.tell(&prev, p, fmt.Sprintf("wrapped at 2^%d: counted as %.0f", g.metric.Bits(), inc))
		}
	case metric.Dipped:
		if g.note != nil {
			g.tell(&prev, p, "fell a little, as counters do that the kernel reads without a lock: counted as 0 until that is caught up")
		}
	case metric.Restarted:
		g.tell(&prev, p, "fell, so it was reset: no rate")
		return 0, 0, whyReset
	case metric.Saturated:
		g.tell(&prev, p, "stands at the largest value it can show: no rate")
		return 0, 0, whySaturated
	}
	g.cur.lastInc = inc
	return inc, elapsed, metric.Present
}

// change returns the difference of the current level at p from the one before.
func (g *gainer) change(p store.Point) (diff, seconds float64, why metric.Reason) {
	prev, elapsed, why := g.pass(p)
	if why != metric.Present {
		return 0, 0, why
	}
	return metric.Number(g.metric.Type, p.Bits) - metric.Number(g.metric.Type, prev.Bits), elapsed, metric.Present
}

// pass makes p the last reading. It returns the one before and the seconds since, or the reason
// why no rate may be taken across that time.
func (g *gainer) pass(p store.Point) (prev lastReading, seconds float64, why metric.Reason) {
	c := g.cur
	prev = *c
	c.Point, c.archive, c.missing = p, g.archive, false
	if prev.archive == nil {
		return prev, 0, whyFirst
	}
	if prev.archive.BootID != g.archive.BootID {
		c.spacing = [2]int64{}
		g.tell(&prev, p, "the machine booted in between: no rate")
		return prev, 0, whyBoot
	}
	elapsed := p.Cont - prev.Cont
	if elapsed <= 0 {
		g.tell(&prev, p, "no time passed on the continuous clock: no rate")
		return prev, 0, whyClock
	}
	c.spacing = [2]int64{elapsed, prev.spacing[0]}
	if kind, broken := between(g.machine, prev.Cont, p.Cont); broken {
		if g.note != nil {
			g.tell(&prev, p, string(kind)+" in between: no rate")
		}
		return prev, 0, whyBroken(kind)
	}
	if _, broken := between(g.own, prev.Cont, p.Cont); broken {
		g.tell(&prev, p, "it went away or another one came in between: no rate")
		return prev, 0, whyOther
	}
	if g.interval > 0 {
		if usual := max(g.interval, min(prev.spacing[0], prev.spacing[1])); elapsed > missedTicks*usual {
			if g.note != nil {
				g.tell(&prev, p, fmt.Sprintf("%.3g s without a value (one is due every %.3g s): no rate", float64(elapsed)/1e9, float64(usual)/1e9))
			}
			return prev, 0, whyGap
		}
	}
	return prev, float64(elapsed) / 1e9, metric.Present
}

func (g *gainer) tell(prev *lastReading, p store.Point, text string) {
	if g.note == nil {
		return
	}
	g.note(Note{Metric: g.metric, Instance: g.instance, Prev: prev.Wall, Wall: p.Wall, Text: text})
}
