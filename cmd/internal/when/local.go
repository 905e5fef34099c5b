package when

import (
	"fmt"
	"time"
)

// local returns the instant at which clocks in the zone show what t shows. In the night when
// clocks are set back a time comes twice: local takes the one that the archive covers, and
// returns an error if it covers both. In the night when they are set forward some times never
// come.
func (r Reference) local(t time.Time) (time.Time, error) {
	all := r.showing(t)
	if len(all) == 2 {
		first, second := r.covers(all[0]), r.covers(all[1])
		switch {
		case first && !second:
			return all[0], nil
		case second && !first:
			return all[1], nil
		}
		return time.Time{}, fmt.Errorf("%s came twice that night, when clocks were set back: write %s or %s",
			t.Format("2006-01-02 15:04:05"), all[0].Format(time.RFC3339Nano), all[1].Format(time.RFC3339Nano))
	}
	if len(all) == 0 {
		before, after := r.offsets(t)
		return time.Time{}, fmt.Errorf("%s never came, because clocks were set forward: write %s or %s", t.Format("2006-01-02 15:04:05"),
			t.Add(-before).In(r.Zone).Format(time.RFC3339Nano), t.Add(-after).In(r.Zone).Format(time.RFC3339Nano))
	}
	return all[0], nil
}

// midnight returns the instant at which a day begins: the first of two midnights or, if clocks
// are set forward at midnight, the time they are set to.
func (r Reference) midnight(day time.Time) time.Time {
	if all := r.showing(day); len(all) > 0 {
		return all[0]
	}
	// The change of clocks is the first instant of the day.
	_, after := r.offsets(day)
	begin, _ := day.Add(-after).Add(24 * time.Hour).In(r.Zone).ZoneBounds()
	return begin
}

// showing returns the instants, in order, at which clocks show what t shows.
func (r Reference) showing(t time.Time) []time.Time {
	var out []time.Time
	before, after := r.offsets(t)
	for _, offset := range []time.Duration{before, after} {
		at := t.Add(-offset).In(r.Zone)
		if _, seconds := at.Zone(); time.Duration(seconds)*time.Second == offset && (len(out) == 0 || !out[0].Equal(at)) {
			out = append(out, at)
		}
	}
	return out
}

// offsets returns how far clocks are ahead of UTC before and after the day of t.
func (r Reference) offsets(t time.Time) (before, after time.Duration) {
	const aDay = 24 * time.Hour
	_, b := t.Add(-aDay).In(r.Zone).Zone()
	_, a := t.Add(aDay).In(r.Zone).Zone()
	return time.Duration(b) * time.Second, time.Duration(a) * time.Second
}

// covers reports whether the archive covers at; an empty archive counts as covering all.
func (r Reference) covers(at time.Time) bool {
	return (r.Start.IsZero() || !at.Before(r.Start)) && (r.End.IsZero() || !at.After(r.End))
}
