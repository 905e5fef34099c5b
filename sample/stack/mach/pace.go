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

// share is the part of the time in which others may be kept from running.
const share = 20

// done says that a look took from a time to another, for how much of which others
// were stopped. It is followed by as long a rest, so that sampling never takes more
// than half a processor, nor stops anybody for more than a twentieth of the time.
func (p *pace) done(from, to time.Time, stopped time.Duration) {
	rested := to.Add(max(to.Sub(from), (share-1)*stopped))
	for p.next.Before(rested) && p.next.Before(p.until) {
		p.next = p.next.Add(p.interval)
		p.rounds++
		p.missed++
	}
}
