package fault

import (
	"fmt"
	"time"
)

// UTC formats a wall clock for people: in UTC, because the archive that would know the time
// zone may be damaged.
func UTC(wall int64) string { return time.Unix(0, wall).UTC().Format("2006-01-02 15:04:05Z") }

// Span formats a range of wall clocks for people. One end may be zero, for unknown.
func Span(from, to int64) string {
	switch {
	case to == 0:
		return "after " + UTC(from)
	case from == 0:
		return "before " + UTC(to)
	}
	return UTC(from) + " to " + UTC(to)
}

// Stretch describes a stretch of time in words.
func Stretch(from, to int64) string {
	return fmt.Sprintf("%s to %s (%s)", UTC(from), UTC(to), Roughly(max(0, time.Duration(to-from)).Round(time.Second)))
}

// Roughly describes a length of time in words.
func Roughly(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	return d.String()
}
