package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// diffAgainst compares a window with the same hours of another day, or with
// another host's.
func (s *session) diffAgainst(w query.Window, f *diffFlags, args []string) (*comparison, error) {
	if len(args) > 1 || f.before != "" || f.after != "" || f.at != "" {
		return nil, fmt.Errorf("--against compares one window with another day's or host's: replay diff 03:00..04:00 --against yesterday")
	}
	if len(args) == 1 {
		span, err := s.parseSpan(args[0])
		if err != nil {
			return nil, err
		}
		w.From, w.To = span.From, span.To
	}
	for _, h := range s.Archive.Hosts() {
		if h.Name == f.against || h.ID == f.against {
			s.Resolved["against"] = f.against
			return s.againstHost(w, &h)
		}
	}
	words := strings.ToLower(strings.Join(strings.Fields(f.against), " "))
	if n, ok := daysBefore[words]; ok {
		return s.againstDay(w, func(from time.Time) int { return n })
	}
	day, err := s.Reference().Parse(f.against)
	if err != nil {
		var names []string
		for _, h := range s.Archive.Hosts() {
			names = append(names, h.Name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("--against %s is neither a day (yesterday, last week, monday, 2026-11-20) nor a host of these archives, which are of %s", f.against, strings.Join(names, ", "))
	}
	return s.againstDay(w, func(from time.Time) int {
		days := s.daysFrom(day, from)
		if words == "yesterday" && (days <= 0 || !s.recordedOn(day, w)) {
			return 1 // In an older recording, it is the day before the window.
		}
		return days
	})
}

// daysBefore is how many days before the window each phrase means.
var daysBefore = map[string]int{"the day before": 1, "day before": 1, "last week": 7, "the week before": 7, "week before": 7}

// daysFrom is the number of days from the day of a to the day of b.
func (s *session) daysFrom(a, b time.Time) int {
	midnight := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(math.Round(midnight(b.In(s.Zone())).Sub(midnight(a.In(s.Zone()))).Hours() / 24))
}

// recordedOn reports whether anything was recorded on the day that contains an instant.
func (s *session) recordedOn(day time.Time, w query.Window) bool {
	day = day.In(s.Zone())
	from := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, s.Zone())
	_, _, list := query.Covered(s.Archive, query.Window{Hosts: w.Hosts, From: from.UnixNano(), To: from.AddDate(0, 0, 1).UnixNano()})
	return len(list) > 0
}

// againstHost compares the first recorded host of w with the other one. Unless w gives a window,
// it takes the time in which both were recorded.
func (s *session) againstHost(w query.Window, other *metric.Host) (*comparison, error) {
	theirs := query.Window{Hosts: []string{other.ID}, From: w.From, To: w.To}
	from, to, list := query.Covered(s.Archive, theirs)
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", other.Name, s.Empty(theirs))
	}
	for _, h := range s.Archive.Hosts() {
		if h.ID == other.ID || !w.Wants(h.ID) {
			continue
		}
		ours := query.Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
		first, last, list := query.Covered(s.Archive, ours)
		if len(list) == 0 {
			continue
		}
		both := query.Window{From: cmp.Or(w.From, max(from, first)), To: cmp.Or(w.To, min(to, last))}
		if both.To <= both.From {
			return nil, fmt.Errorf("%s and %s were never recorded at the same time: compare two days of one host", h.Name, other.Name)
		}
		return &comparison{a: both, b: both, against: other.ID, name: other.Name}, nil
	}
	return nil, fmt.Errorf("nothing to compare with %s: give another host's archives as well", other.Name)
}

// mostUsual is the number of other days that show what is usual at these hours.
const mostUsual = 8

// againstDay compares the window with the same hours some days earlier. before returns that
// number of days for the day on which the window begins. The hours are those of the wall clock,
// so that a night of 23 hours is still a night.
func (s *session) againstDay(w query.Window, before func(from time.Time) int) (*comparison, error) {
	start, end, _ := query.Covered(s.Archive, query.Window{Hosts: w.Hosts})
	to := s.In(end)
	if w.To != 0 {
		to = s.In(w.To)
	}
	last := to.Add(-1) // midnight ends a day
	from := time.Date(last.Year(), last.Month(), last.Day(), 0, 0, 0, 0, s.Zone())
	if w.From != 0 {
		from = s.In(w.From)
	}
	days := before(from)
	if days == 0 {
		return nil, fmt.Errorf("the window lies on that day itself: compare with another one, such as --against yesterday")
	}
	shift := func(n int) query.Window {
		return query.Window{Hosts: w.Hosts, From: from.AddDate(0, 0, -n).UnixNano(), To: to.AddDate(0, 0, -n).UnixNano()}
	}
	c := &comparison{a: shift(days), b: shift(0), usual: []query.Window{}}
	for _, part := range []query.Window{c.a, c.b} {
		if _, _, list := query.Covered(s.Archive, part); len(list) == 0 {
			return nil, s.Empty(part)
		}
	}
	for n := 1; len(c.usual) < mostUsual; n++ {
		u := shift(n)
		if u.From < start {
			break
		}
		if _, _, list := query.Covered(s.Archive, u); len(list) > 0 && n != days {
			c.usual = append(c.usual, u)
		}
	}
	s.Resolved["against"] = from.AddDate(0, 0, -days).Format(time.DateOnly)
	return c, nil
}
