// Package when reads the times that people type.
package when

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Reference holds the instants that times are relative to.
type Reference struct {
	Now  time.Time
	Zone *time.Location
	// Start and End are the span of the archive; zero if it is empty.
	Start, End time.Time
	// Last returns when the last event of a kind happened, zero if that is not known.
	Last func(kind string) time.Time
}

var layouts = []string{
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04", "2006-01-02T15:04",
}

// Forms says in a few words what Parse accepts.
const Forms = "2026-11-20 03:12, 03:12, 3:12am, yesterday 03:12, monday noon, -2h, now, start, end-5m, last boot, @unix or RFC 3339"

// Parse parses an instant: RFC 3339; a date, with or without a time; a time of day or of a day
// of the week, which is the latest such instant in the archive; yesterday and today, with a time
// of day or from their beginning; now, or -2h relative to now; @seconds since 1970; start or end
// of the archive, or its last boot, with an optional offset.
func (r Reference) Parse(s string) (time.Time, error) {
	text := strings.TrimSpace(s)
	if text == "" {
		return time.Time{}, fmt.Errorf("no time given (a time is %s)", Forms)
	}
	words := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	if at, ok, err := r.anchor(words); ok {
		return at, err
	}
	switch text[0] {
	case '@':
		return unix(text)
	case '-':
		d, err := Offset(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("time %q: %w", s, err)
		}
		return r.Now.Add(d), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "T", 1)); err == nil {
		return t, nil
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, text); err == nil {
			return r.local(t)
		}
	}
	if at, ok, err := r.spoken(words); ok {
		return at, err
	}
	return time.Time{}, fmt.Errorf("%q is not a time (a time is %s)", s, Forms)
}

// clock returns the latest instant with the time of day of t that the archive covers, else the
// one on the day of its end.
func (r Reference) clock(t time.Time) (time.Time, error) {
	ref := r.latest().In(r.Zone)
	day := func(back int) time.Time {
		return time.Date(ref.Year(), ref.Month(), ref.Day()-back, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	at, err := r.local(day(0))
	when := at
	if err != nil {
		when = time.Date(ref.Year(), ref.Month(), ref.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), r.Zone)
	}
	if !when.After(ref) {
		return at, err
	}
	if before, err := r.local(day(1)); err != nil || r.Start.IsZero() || !before.Before(r.Start) {
		return before, err
	}
	return at, err
}

func unix(text string) (time.Time, error) {
	whole, frac, _ := strings.Cut(text[1:], ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(frac) > 9 {
		return time.Time{}, fmt.Errorf("%q is not a time: after @ come seconds since 1970", text)
	}
	var ns int64
	if frac != "" {
		if ns, err = strconv.ParseInt(frac+strings.Repeat("0", 9-len(frac)), 10, 64); err != nil {
			return time.Time{}, fmt.Errorf("%q is not a time: after @ come seconds since 1970", text)
		}
	}
	return time.Unix(sec, ns), nil
}

// Offset parses +5m or -2h.
func Offset(s string) (time.Duration, error) {
	if s == "" || s[0] != '-' && s[0] != '+' {
		return 0, fmt.Errorf("an offset is written -2h or +5m")
	}
	d, err := Duration(s[1:])
	if err != nil {
		return 0, err
	}
	if s[0] == '-' {
		d = -d
	}
	return d, nil
}

// Duration parses 30s, 1h30m and, beyond Go's units, 7d and 2w.
func Duration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration (write 30s, 10m, 2h, 7d)", s)
	var days time.Duration
	rest := s
	for _, u := range []struct {
		suffix string
		d      time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		if i := strings.Index(rest, u.suffix); i > 0 {
			n, err := strconv.ParseFloat(rest[:i], 64)
			if err != nil || n < 0 || n > 1e5 {
				return 0, bad
			}
			days += time.Duration(n * float64(u.d))
			rest = rest[i+1:]
		}
	}
	if rest == "" && days > 0 {
		return days, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, bad
	}
	return days + d, nil
}
