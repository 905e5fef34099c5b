package browse

import "time"

// in is an instant in the zone that times are shown in.
func (a *app) in(at int64) time.Time { return time.Unix(0, at).In(a.Zone) }

// clock is an instant, written out.
func (a *app) clock(at int64) string { return a.in(at).Format("2006-01-02 15:04:05 MST") }

// clockBeside is an instant beside the one looked at: with its day where that is
// another one.
func (a *app) clockBeside(at int64) string {
	t := a.in(at)
	if t.Format(time.DateOnly) != a.in(a.at).Format(time.DateOnly) {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("15:04:05")
}

// spanText is a stretch of time.
func (a *app) spanText(from, to int64) string {
	if from == to {
		return "at " + a.clockBeside(from)
	}
	return a.clockBeside(from) + " to " + a.clockBeside(to)
}

// stamp is an instant as a command line takes it, in every digit.
func stamp(at int64, zone *time.Location) string {
	return time.Unix(0, at).In(zone).Format(time.RFC3339Nano)
}
