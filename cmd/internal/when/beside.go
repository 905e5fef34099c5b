package when

import (
	"fmt"
	"strings"
	"time"
)

// Beside parses an instant that the user types while looking at another one: -5m and +1h are
// relative to that one, and a time of day is on its day or, if the archive does not cover that,
// on the nearest day where it does. All else is as in Parse.
func (r Reference) Beside(s string, at time.Time) (time.Time, error) {
	text := strings.TrimSpace(s)
	if text != "" && (text[0] == '-' || text[0] == '+') {
		d, err := Offset(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("time %q: %w", s, err)
		}
		return at.Add(d), nil
	}
	if clock, ok := timeOfDay(strings.ToLower(strings.Join(strings.Fields(text), ""))); ok {
		at = at.In(r.Zone)
		on := func(days int) (time.Time, error) {
			day := time.Date(at.Year(), at.Month(), at.Day()+days, 0, 0, 0, 0, time.UTC)
			return r.local(day.Add(sinceMidnight(clock)))
		}
		same, err := on(0)
		if err != nil || r.covers(same) {
			return same, err
		}
		for _, days := range []int{-1, 1} {
			if t, err := on(days); err == nil && r.covers(t) {
				return t, nil
			}
		}
		if t, err := r.Parse(s); err == nil && r.covers(t) {
			return t, nil
		}
		return same, nil
	}
	return r.Parse(s)
}
