package config

import (
	"time"

	"github.com/robfig/cron/v3"
)

// NextRotation is when an archive begun at began must be cut, given that it is
// now now: the first time of the schedule after began by the wall clock of
// loc. It is in the past when that time was missed, because the machine slept
// or the clock was set forward: then the archive is to be cut at once.
//
// A clock that was set back behind began does not delay the next cut by more
// than the schedule's own step: the schedule then counts from now.
func NextRotation(s cron.Schedule, began, now time.Time, loc *time.Location) time.Time {
	if now.Before(began) {
		began = now
	}
	began = began.In(loc)
	next := s.Next(began)
	// Where clocks are put forward over a time of the schedule, cron leaves
	// that day out. Asked about a clock that nobody puts forward it does not,
	// and the time that does not exist becomes the one right after the gap.
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
