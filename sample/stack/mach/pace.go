package mach

import (
	"context"
	"time"
)

// pace says when to sample: at fixed intervals, without drift. Times that pass while a round is
// still running are missed, and not made up for.
type pace struct {
	interval       time.Duration
	next, until    time.Time
	rounds, missed int
}

func newPace(interval, length time.Duration, now time.Time) *pace {
	return &pace{interval: interval, next: now, until: now.Add(length)}
}

// due waits for the next time; it returns false at the end.
func (p *pace) due(ctx context.Context) bool {
	if !p.next.Before(p.until) || ctx.Err() != nil {
		return false
	}
	if wait := time.Until(p.next); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	p.rounds++
	p.next = p.next.Add(p.interval)
	return true
}

// share limits how long others are kept from running: one part in share of the time.
const share = 20

// done ends a round, which lasted from one time to another and stopped others for stopped. It
// schedules as long a rest, so that sampling never takes more than half a processor, nor stops a process
// for more than a twentieth of the time.
func (p *pace) done(from, to time.Time, stopped time.Duration) {
	rested := to.Add(max(to.Sub(from), (share-1)*stopped))
	for p.next.Before(rested) && p.next.Before(p.until) {
		p.next = p.next.Add(p.interval)
		p.rounds++
		p.missed++
	}
}
