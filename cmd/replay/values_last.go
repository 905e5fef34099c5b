package main

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// lasts keeps the last value of each series, in the order in which the series come.
type lasts struct {
	on    bool
	list  []*last
	byKey map[string]*last
}

// last is a series with one value.
type last struct {
	query.Series
	factor float64
	doubt  func(int64) metric.Reason
}

// keep takes the last value of some of a series, and reports whether that is wanted.
func (l *lasts) keep(s *query.Series, factor float64, doubt func(int64) metric.Reason) bool {
	if !l.on || len(s.Wall) == 0 {
		return l.on
	}
	key := s.Archive.Host.ID + "\x00" + s.Name
	if s.Instance != nil {
		key += "\x00" + s.Instance.Key
	}
	one := l.byKey[key]
	if one == nil {
		if l.byKey == nil {
			l.byKey = make(map[string]*last)
		}
		one = new(last)
		l.byKey[key], l.list = one, append(l.list, one)
	}
	if n := len(one.Wall); n == 0 || one.Wall[n-1] <= s.Wall[len(s.Wall)-1] {
		*one = last{s.Last(), factor, doubt}
	}
	return true
}

// present returns the values, without those of instances that the last reading of their metric did not have.
func (l *lasts) present() []*last {
	latest := make(map[string]int64)
	of := func(one *last) string { return one.Archive.Host.ID + "\x00" + one.Name }
	for _, one := range l.list {
		latest[of(one)] = max(latest[of(one)], one.Wall[0])
	}
	return slices.DeleteFunc(l.list, func(one *last) bool { return one.Instance != nil && one.Wall[0] < latest[of(one)] })
}
