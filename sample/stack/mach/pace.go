package mach

import (
	"context"
	"time"
)

// pace says when to look: at times that lie an interval apart, from which it does
// not drift. Times that have passed while it was still looking are missed and not
// made up for.
type pace struct {
	interval       time.Duration
	next, until    time.Time
	rounds, missed int
}

func newPace(interval, length time.Duration, now time.Time) *pace {
	return &pace{interval: interval, next: now, until: now.Add(length)}
}

// due waits for the next time; false is that there is none any more.
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

// done says that a look took from a time to another. It is followed by as long a
// rest, so that sampling never takes more than half a processor.
func (p *pace) done(from, to time.Time) {
	rested := to.Add(to.Sub(from))
	for p.next.Before(rested) && p.next.Before(p.until) {
		p.next = p.next.Add(p.interval)
		p.rounds++
		p.missed++
	}
}
