package config

import (
	"time"

	"github.com/robfig/cron/v3"
)

// NextRotation returns when an archive that began at began must be cut, at the time now: the
// first time of the schedule after began, by the wall clock of loc. The result is in the past
// if that time was missed, because the machine slept or the clock was set forward: then the
// archive must be cut at once.
//
// If the clock was set back to before began, the schedule counts from now, so that the next cut
// is not delayed by more than the schedule's own step.
func NextRotation(s cron.Schedule, began, now time.Time, loc *time.Location) time.Time {
	if now.Before(began) {
		began = now
	}
	began = began.In(loc)
	next := s.Next(began)
	// On a day when clocks are put forward over a time of the schedule, cron leaves that time
	// out. With UTC, which is never put forward, it does not, and the time that does not exist
	// becomes the one right after the gap.
	y, m, d := began.Date()
	even := s.Next(time.Date(y, m, d, began.Hour(), began.Minute(), began.Second(), began.Nanosecond(), time.UTC))
	if even.IsZero() {
		return next
	}
	y, m, d = even.Date()
	real := time.Date(y, m, d, even.Hour(), even.Minute(), even.Second(), 0, loc)
	if real.After(began) && real.Before(next) {
		return real
	}
	return next
}
