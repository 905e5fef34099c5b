package query

import "time"

const aDay = int64(24 * time.Hour)

// division cuts time into steps. Step n, from 1 on, is the time after edge(n-1) and up to
// edge(n). Steps are equally long, or whole days of a zone: from midnight to midnight, 23 or 25
// hours long where clocks change.
type division struct {
	origin, step int64
	zone         *time.Location // for steps of days
	days, first  int64          // days in a step, and the number of the step before the first
	// last is the step of days that was found last, after begin and up to end: values come in
	// the order of time, and the calendar is slow.
	last, begin, end int64
}

// division returns how r cuts time when the first value of the answer is at first.
func (r Request) division(first int64) division {
	if r.Zone == nil || r.Step%aDay != 0 {
		return division{origin: r.origin(first), step: r.Step}
	}
	if r.From != 0 {
		first = r.From
	}
	d := division{step: r.Step, zone: r.Zone, days: r.Step / aDay}
	d.first = d.number(first)
	d.begin, d.end = 0, 0 // It was counted from another first step.
	if d.edge(0) != first {
		d.first-- // first is inside the first step.
	}
	return d
}

// monday is the number of days from a Monday to the first day of 1970: steps of
// weeks begin with their Monday.
const monday = 3

// dayOf returns the number of the step with the day of wall, counted from the step in which 1970
// begins.
func (d division) dayOf(wall int64) int64 {
	t := time.Unix(0, wall).In(d.zone)
	n := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix()/int64(24*3600) + monday
	return (n - mod(n, d.days)) / d.days
}

// number returns the step that wall belongs to. The instant at which the first step begins
// belongs to it as well, once first is known.
func (d *division) number(wall int64) int64 {
	if d.zone == nil {
		past := wall - d.origin
		n := past / d.step
		if past%d.step > 0 {
			n++
		}
		return n
	}
	if wall > d.begin && wall <= d.end {
		return d.last
	}
	n := d.dayOf(wall) + 1 - d.first
	for d.edge(n-1) >= wall {
		n--
	}
	for d.edge(n) < wall {
		n++
	}
	d.last, d.begin, d.end = n, d.edge(n-1), d.edge(n)
	return n
}

// edge returns the instant at which step n ends.
func (d division) edge(n int64) int64 {
	if d.zone == nil {
		return d.origin + n*d.step
	}
	day := time.Unix(((n+d.first)*d.days-monday)*int64(24*3600), 0).UTC()
	t := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, d.zone)
	if t.Day() != day.Day() {
		// Clocks are set forward at midnight: the day begins with the change.
		_, t = t.ZoneBounds()
	}
	return t.UnixNano()
}

// StepAt returns the step that an instant belongs to; a step includes the instant at which it
// ends. Steps are counted from r's Origin, else from its From, else from 1970.
func (r Request) StepAt(wall int64) (begin, end int64) {
	d := r.division(wall)
	n := d.number(wall)
	return d.edge(n - 1), d.edge(n)
}
