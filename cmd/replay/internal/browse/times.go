package browse

import "time"

// in converts a wall clock to a time in the zone of shown times.
func (a *app) in(at int64) time.Time { return time.Unix(0, at).In(a.Zone) }

// clock writes an instant with its date and zone.
func (a *app) clock(at int64) string { return a.in(at).Format("2006-01-02 15:04:05 MST") }

// clockBeside writes an instant beside the one at the cursor, with its date if that differs.
func (a *app) clockBeside(at int64) string {
	t := a.in(at)
	if t.Format(time.DateOnly) != a.in(a.at).Format(time.DateOnly) {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("15:04:05")
}

// spanText writes a time span.
func (a *app) spanText(from, to int64) string {
	if from == to {
		return "at " + a.clockBeside(from)
	}
	return a.clockBeside(from) + " to " + a.clockBeside(to)
}

// stamp writes an instant for a command line, with all digits.
func stamp(at int64, zone *time.Location) string {
	return time.Unix(0, at).In(zone).Format(time.RFC3339Nano)
}
