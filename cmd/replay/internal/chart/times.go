package chart

import (
	"time"
)

// TimeTick is a mark of a time axis.
type TimeTick struct {
	At int64
	// Label is the time on the zone's clocks, no finer than the distance of the ticks.
	Label string
	// Below is the text below Label, if it differs from that of the previous tick: the day or,
	// after a clock change, the zone's abbreviation.
	Below string
}

// timeSteps are the distances of ticks within a day.
var timeSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// Times returns at most that many ticks between two instants, at times when the clocks of the
// zone show round numbers, also through nights with a clock change.
func Times(from, to int64, zone *time.Location, most int) []TimeTick {
	if most < 1 || to < from {
		return nil
	}
	span := float64(to) - float64(from)
	for _, step := range timeSteps {
		if span/float64(step) <= float64(most) {
			if list := hours(from, to, int64(step), zone); len(list) <= most {
				return below(list, layoutOf(step), time.DateOnly, zone)
			}
		}
	}
	for _, days := range []int{1, 2, 5, 10} {
		if span/float64(days)/86400e9 <= float64(most) {
			if list := dates(from, to, zone, most, func(t time.Time) time.Time {
				next := (t.Day()-1)/days*days + 1 + days
				if next > 28 && days > 1 && time.Date(t.Year(), t.Month(), next+days/2, 0, 0, 0, 0, time.UTC).Month() != t.Month() {
					return firstOf(t.Year(), t.Month()+1, zone)
				}
				return startOfDay(t.Year(), t.Month(), next, zone)
			}); list != nil {
				return below(list, "01-02", "2006", zone)
			}
		}
	}
	for _, months := range []int{1, 3, 6} {
		if span/float64(months)/28/86400e9 <= float64(most) {
			if list := dates(from, to, zone, most, func(t time.Time) time.Time {
				return firstOf(t.Year(), (t.Month()-1)/time.Month(months)*time.Month(months)+1+time.Month(months), zone)
			}); list != nil {
				return below(list, "2006-01", "", zone)
			}
		}
	}
	for years := 1; years <= 1000; years *= 10 {
		for _, k := range []int{1, 2, 5} {
			every := years * k
			if list := dates(from, to, zone, most, func(t time.Time) time.Time {
				return firstOf(t.Year()/every*every+every, time.January, zone)
			}); list != nil {
				return below(list, "2006", "", zone)
			}
		}
	}
	return nil
}

func layoutOf(step time.Duration) string {
	switch {
	case step < time.Second:
		return "15:04:05.000"
	case step < time.Minute:
		return "15:04:05"
	}
	return "15:04"
}

// hours returns the instants at which clocks show multiples of a step. Between clock changes
// they are one step apart.
func hours(from, to, step int64, zone *time.Location) []int64 {
	var list []int64
	for at := from; at <= to; {
		t := time.Unix(0, at).In(zone)
		_, seconds := t.Zone()
		offset := int64(seconds) * int64(time.Second)
		end := to
		if _, change := t.ZoneBounds(); !change.IsZero() && change.Before(time.Unix(0, to)) {
			end = change.UnixNano() - 1
		}
		rest := (at%step + offset%step) % step
		if rest < 0 {
			rest += step
		}
		if rest != 0 {
			if end-at < step-rest {
				at = end // There is none before the clock change.
				if end == to {
					return list
				}
				at++
				continue
			}
			at += step - rest
		}
		for {
			list = append(list, at)
			if end-at < step {
				break
			}
			at += step
		}
		if end == to {
			return list
		}
		at = end + 1
	}
	return list
}

// dates returns the instants that next yields, one after the other; nil if there are too many.
func dates(from, to int64, zone *time.Location, most int, next func(time.Time) time.Time) []int64 {
	list := []int64{}
	begin, end := time.Unix(0, from).In(zone), time.Unix(0, to)
	if day := startOfDay(begin.Year(), begin.Month(), begin.Day(), zone); day.Equal(begin) {
		if back := next(begin.Add(-time.Hour)); back.Equal(begin) {
			list = append(list, from)
		}
	}
	for t := next(begin); !t.After(end); t = next(t) {
		if len(list) == most {
			return nil
		}
		list = append(list, t.UnixNano())
	}
	return list
}

func firstOf(year int, month time.Month, zone *time.Location) time.Time {
	return startOfDay(year, month, 1, zone)
}

// startOfDay returns the first instant of a day: midnight or, if clocks go forward at midnight,
// the time that they are set to.
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if want := time.Date(year, month, day, 12, 0, 0, 0, time.UTC); t.Day() != want.Day() {
		_, t = t.ZoneBounds() // t is still on the day before.
	}
	return t
}

// below makes the ticks; day is the layout of the text below the labels.
func below(list []int64, layout, day string, zone *time.Location) []TimeTick {
	out := make([]TimeTick, len(list))
	last, offset := "", 0
	for i, at := range list {
		t := time.Unix(0, at).In(zone)
		name, seconds := t.Zone()
		out[i] = TimeTick{At: at, Label: t.Format(layout)}
		if text := t.Format(day); text != last {
			out[i].Below, last = text, text
		} else if i > 0 && seconds != offset && day == time.DateOnly {
			out[i].Below = name
		}
		offset = seconds
	}
	return out
}
