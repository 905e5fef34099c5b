package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lasts are the kinds of events that can follow "last", as in "last boot".
var Lasts = []string{"boot", "shutdown", "panic", "sleep", "wake"}

// anchor parses now, start, end or the last event of a kind, with an optional offset; ok says
// that text begins with one of them.
func (r Reference) anchor(text string) (at time.Time, ok bool, err error) {
	word, offset := text, ""
	if i := strings.IndexAny(text, "+-"); i > 0 {
		word, offset = strings.TrimSpace(text[:i]), strings.ReplaceAll(text[i:], " ", "")
	}
	switch word {
	case "now":
		at = r.Now
	case "start", "end":
		if at = r.Start; word == "end" {
			at = r.End
		}
		if at.IsZero() {
			return at, true, fmt.Errorf("%q means nothing while the archive is empty", text)
		}
	default:
		kind, last := strings.CutPrefix(word, "last ")
		if !last || !slices.Contains(Lasts, kind) {
			return at, false, nil
		}
		if r.Last != nil {
			at = r.Last(kind)
		}
		if at.IsZero() {
			return at, true, fmt.Errorf("the archive knows of no %s", kind)
		}
	}
	if offset == "" {
		return at, true, nil
	}
	d, err := Offset(offset)
	if err != nil {
		return at, true, fmt.Errorf("time %q: %w", text, err)
	}
	return at.Add(d), true, nil
}

// spoken parses a time as people say it: a time of day, a day, both in either order, or how long
// ago; ok says whether text is one.
func (r Reference) spoken(text string) (at time.Time, ok bool, err error) {
	fields := strings.Fields(strings.ReplaceAll(text, ",", " "))
	fields = slices.DeleteFunc(fields, func(s string) bool { return s == "at" || s == "on" })
	if n := len(fields); n > 1 && fields[n-1] == "ago" {
		at, ok = r.ago(fields[:n-1])
		return at, ok, nil
	}
	for n := min(len(fields), 2); n > 0; n-- {
		for _, split := range [][2][]string{{fields[len(fields)-n:], fields[:len(fields)-n]}, {fields[:n], fields[n:]}} {
			clock, isClock := timeOfDay(strings.Join(split[0], ""))
			if !isClock {
				continue
			}
			if len(split[1]) == 0 {
				at, err = r.clock(clock)
				return at, true, err
			}
			if day, weekly, isDay := r.day(split[1]); isDay {
				at, err = r.local(day.Add(sinceMidnight(clock)))
				if ref := r.latest(); weekly && err == nil && at.After(ref) {
					if before, err := r.local(day.AddDate(0, 0, -7).Add(sinceMidnight(clock))); err == nil && !before.Before(r.Start) {
						return before, true, nil
					}
				}
				return at, true, err
			}
		}
	}
	if day, _, isDay := r.day(fields); isDay {
		return r.midnight(day), true, nil
	}
	return time.Time{}, false, nil
}

// latest returns the last instant that times of day and of the week can mean.
func (r Reference) latest() time.Time {
	if !r.End.IsZero() && r.End.Before(r.Now) {
		return r.End
	}
	return r.Now
}

// day parses a date, as midnight in UTC; weekly says that it is a day of the week, the latest
// such.
func (r Reference) day(words []string) (day time.Time, weekly, ok bool) {
	text := strings.Join(words, " ")
	dayOf := func(t time.Time, back int) time.Time {
		t = t.In(r.Zone)
		return time.Date(t.Year(), t.Month(), t.Day()-back, 0, 0, 0, 0, time.UTC)
	}
	switch text {
	case "today":
		return dayOf(r.Now, 0), false, true
	case "yesterday":
		return dayOf(r.Now, 1), false, true
	}
	if n := len(words); n > 1 && words[n-1] == "ago" {
		if count, unit, ok := counted(words[:n-1]); ok && unit == "day" {
			return dayOf(r.Now, count), false, true
		}
	}
	name := strings.TrimPrefix(text, "last ")
	for d := time.Sunday; d <= time.Saturday; d++ {
		if full := strings.ToLower(d.String()); len(name) >= 3 && strings.HasPrefix(full, name) {
			today := dayOf(r.latest(), 0)
			back := (int(today.Weekday()) - int(d) + 7) % 7
			if name != text && back == 0 {
				back = 7
			}
			return today.AddDate(0, 0, -back), name == text, true
		}
	}
	for _, l := range []string{time.DateOnly, "2 Jan 2006", "2 January 2006", "Jan 2 2006", "January 2 2006"} {
		if t, err := time.Parse(l, text); err == nil {
			return t, false, true
		}
	}
	for _, l := range []string{"2 Jan", "2 January", "Jan 2", "January 2"} {
		if t, err := time.Parse(l, text); err == nil {
			today := dayOf(r.latest(), 0)
			t = time.Date(today.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
			if t.After(today) {
				t = t.AddDate(-1, 0, 0)
			}
			return t, false, true
		}
	}
	return day, false, false
}

// ago parses how long ago something was.
func (r Reference) ago(words []string) (time.Time, bool) {
	if d, err := Duration(strings.Join(words, "")); err == nil {
		return r.Now.Add(-d), true
	}
	lengths := map[string]time.Duration{"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour}
	count, unit, ok := counted(words)
	if !ok {
		return time.Time{}, false
	}
	switch unit {
	case "day":
		return r.Now.In(r.Zone).AddDate(0, 0, -count), true
	case "week":
		return r.Now.In(r.Zone).AddDate(0, 0, -7*count), true
	}
	return r.Now.Add(-time.Duration(count) * lengths[unit]), lengths[unit] != 0
}

// counted parses "2 hours" and "an hour".
func counted(words []string) (count int, unit string, ok bool) {
	if len(words) != 2 {
		return 0, "", false
	}
	if words[0] == "a" || words[0] == "an" {
		return 1, words[1], true
	}
	count, err := strconv.Atoi(words[0])
	return count, strings.TrimSuffix(words[1], "s"), err == nil && count >= 0 && count < 100_000
}

// timeOfDay parses 03:12, 03:12:05.5, 3:12am, 3pm, noon and midnight.
func timeOfDay(s string) (time.Time, bool) {
	switch s {
	case "noon":
		s = "12:00"
	case "midnight":
		s = "00:00"
	}
	for _, l := range []string{"15:04:05.999999999", "15:04", "3:04:05pm", "3:04pm", "3pm"} {
		if t, err := time.Parse(l, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}
