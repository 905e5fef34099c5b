package sample

import "time"

// When a source that lacks something, or may have lost it, is looked at again: a recorder
// that starts with the machine is there before many drivers, and devices come and go.
const (
	// FirstLook is how long after the start, after a change and after a wake there is the
	// first look: drivers match one after another. Each further look is twice as far
	// away, up to MostLook.
	FirstLook = 5 * time.Second
	MostLook  = time.Minute
	// LookShare bounds what looking costs in the long run: a source that takes five
	// milliseconds to look does so every hundred seconds at most. What one look took
	// tells little on a machine that is busy starting, so that the quickest counts,
	// and rarest is the least that is done.
	LookShare = 20_000
	rarest    = 10 * time.Minute
)

// A Quest plans the looks of one source. Its times are of the awake clock.
type Quest struct {
	At int64 // of the next look

	every  time.Duration
	most   time.Duration
	cost   time.Duration // of the quickest look
	change int64         // the last one; 0: none
}

// Begin begins anew with frequent looks.
func (q *Quest) Begin(now int64) {
	q.every, q.most = FirstLook, MostLook
	q.Next(now)
}

// Changed plans the next look after a change. Another may follow at once; but what
// comes and goes again and again is looked at ever more rarely.
func (q *Quest) Changed(now int64) {
	often := q.change != 0 && time.Duration(now-q.change) < time.Hour
	q.change = now
	if !often {
		q.Begin(now)
		return
	}
	q.most = min(2*q.most, time.Hour)
	q.every = q.most
	q.Next(now)
}

// Took notes what a look cost.
func (q *Quest) Took(d time.Duration) {
	if q.cost == 0 || d < q.cost {
		q.cost = d
	}
}

// Next plans the next look: soon at first, then as rarely as a look costs.
func (q *Quest) Next(now int64) {
	wait := q.every
	if q.every >= MostLook {
		wait = max(wait, min(q.cost*LookShare, rarest))
	}
	q.At = now + int64(wait)
	q.every = min(2*q.every, q.most)
}
