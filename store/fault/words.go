package fault

import (
	"fmt"
	"time"
)

// UTC is a wall clock for people: in UTC, because the archive that would know
// better may be damaged.
func UTC(wall int64) string { return time.Unix(0, wall).UTC().Format("2006-01-02 15:04:05Z") }

// Span is a range of wall clocks for people, an end of which may be unknown
// and zero.
func Span(from, to int64) string {
	switch {
	case to == 0:
		return "after " + UTC(from)
	case from == 0:
		return "before " + UTC(to)
	}
	return UTC(from) + " to " + UTC(to)
}

// Stretch is a stretch of time in words.
func Stretch(from, to int64) string {
	return fmt.Sprintf("%s to %s (%s)", UTC(from), UTC(to), Roughly(max(0, time.Duration(to-from)).Round(time.Second)))
}

// Roughly is a length of time in words.
func Roughly(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	return d.String()
}
