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

// against compares a window with the same hours of another day, or with
// another host's.
func (q *diffQuestion) against() (*comparison, error) {
	if len(q.args) > 1 || q.f.before != "" || q.f.after != "" || q.f.at != "" {
		return nil, fmt.Errorf("--against compares one window with another day's or host's: replay diff 03:00..04:00 --against yesterday")
	}
	if len(q.args) == 1 {
		span, err := q.parse(q.args[0])
		if err != nil {
			return nil, err
		}
		q.w.From, q.w.To = span.From, span.To
	}
	for _, h := range q.s.Archive.Hosts() {
		if h.Name == q.f.against || h.ID == q.f.against {
			q.s.Resolved["against"] = q.f.against
			return q.againstHost(&h)
		}
	}
	words := strings.ToLower(strings.Join(strings.Fields(q.f.against), " "))
	if n, ok := daysBefore[words]; ok {
		return q.againstDay(func(from time.Time) int { return n })
	}
	day, err := q.s.Reference().Parse(q.f.against)
	if err != nil {
		var names []string
		for _, h := range q.s.Archive.Hosts() {
			names = append(names, h.Name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("--against %s is neither a day (yesterday, last week, monday, 2026-11-20) nor a host of these archives, which are of %s", q.f.against, strings.Join(names, ", "))
	}
	return q.againstDay(func(from time.Time) int {
		days := q.daysFrom(day, from)
		if words == "yesterday" && (days <= 0 || !q.recordedOn(day)) {
			return 1 // In an older recording, it is the day before the window.
		}
		return days
	})
}

// daysBefore is how many days before the window each phrase means.
var daysBefore = map[string]int{"the day before": 1, "day before": 1, "last week": 7, "the week before": 7, "week before": 7}

// daysFrom is the number of days from the day of a to the day of b.
func (q *diffQuestion) daysFrom(a, b time.Time) int {
	midnight := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(math.Round(midnight(b.In(q.s.Zone())).Sub(midnight(a.In(q.s.Zone()))).Hours() / 24))
}

// recordedOn reports whether anything was recorded on the day that contains an instant.
func (q *diffQuestion) recordedOn(day time.Time) bool {
	day = day.In(q.s.Zone())
	from := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, q.s.Zone())
	_, _, list := query.Covered(q.s.Archive, query.Window{Hosts: q.w.Hosts, From: from.UnixNano(), To: from.AddDate(0, 0, 1).UnixNano()})
	return len(list) > 0
}

// againstHost compares the first recorded host of w with the other one. Unless w gives a window,
// it takes the time in which both were recorded.
func (q *diffQuestion) againstHost(other *metric.Host) (*comparison, error) {
	theirs := query.Window{Hosts: []string{other.ID}, From: q.w.From, To: q.w.To}
	from, to, list := query.Covered(q.s.Archive, theirs)
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", other.Name, q.s.Empty(theirs))
	}
	for _, h := range q.s.Archive.Hosts() {
		if h.ID == other.ID || !q.w.Wants(h.ID) {
			continue
		}
		ours := query.Window{Hosts: []string{h.ID}, From: q.w.From, To: q.w.To}
		first, last, list := query.Covered(q.s.Archive, ours)
		if len(list) == 0 {
			continue
		}
		both := query.Window{From: cmp.Or(q.w.From, max(from, first)), To: cmp.Or(q.w.To, min(to, last))}
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
func (q *diffQuestion) againstDay(before func(from time.Time) int) (*comparison, error) {
	start, end, _ := query.Covered(q.s.Archive, query.Window{Hosts: q.w.Hosts})
	to := q.s.In(end)
	if q.w.To != 0 {
		to = q.s.In(q.w.To)
	}
	last := to.Add(-1) // midnight ends a day
	from := time.Date(last.Year(), last.Month(), last.Day(), 0, 0, 0, 0, q.s.Zone())
	if q.w.From != 0 {
		from = q.s.In(q.w.From)
	}
	days := before(from)
	if days == 0 {
		return nil, fmt.Errorf("the window lies on that day itself: compare with another one, such as --against yesterday")
	}
	shift := func(n int) query.Window {
		return query.Window{Hosts: q.w.Hosts, From: from.AddDate(0, 0, -n).UnixNano(), To: to.AddDate(0, 0, -n).UnixNano()}
	}
	c := &comparison{a: shift(days), b: shift(0), usual: []query.Window{}}
	for _, part := range []query.Window{c.a, c.b} {
		if _, _, list := query.Covered(q.s.Archive, part); len(list) == 0 {
			return nil, q.s.Empty(part)
		}
	}
	for n := 1; len(c.usual) < mostUsual; n++ {
		u := shift(n)
		if u.From < start {
			break
		}
		if _, _, list := query.Covered(q.s.Archive, u); len(list) > 0 && n != days {
			c.usual = append(c.usual, u)
		}
	}
	q.s.Resolved["against"] = from.AddDate(0, 0, -days).Format(time.DateOnly)
	return c, nil
}
