package sample

import "time"

// When to look again at a source that lacks something, or may have lost it. A recorder that
// starts with the machine runs before many drivers do, and devices come and go.
const (
	// FirstLook is the time to the first look after the start, after a change and after a wake,
	// because drivers match one after another. The interval doubles with each further look, up to
	// MostLook.
	FirstLook = 5 * time.Second
	MostLook  = time.Minute
	// LookShare limits what looking costs in the long run: a source that takes five milliseconds
	// to look does so every hundred seconds at most. The quickest look counts, because one look
	// on a machine that is busy starting takes longer than usual. However much a look costs,
	// it delays the next by rarest at most.
	LookShare = 20_000
	rarest    = 10 * time.Minute
)

// A Quest plans when to look at one source. Its times are on the awake clock.
type Quest struct {
	At int64 // of the next look

	every  time.Duration
	most   time.Duration
	cost   time.Duration // of the quickest look
	change int64         // the last one; 0: none
}

// Begin starts over with frequent looks.
func (q *Quest) Begin(now int64) {
	q.every, q.most = FirstLook, MostLook
	q.Next(now)
}

// Changed plans the next look after a change. The first change leads to frequent looks, because
// another may follow at once. When changes recur within an hour, the looks become ever rarer.
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

// Took records the cost of a look.
func (q *Quest) Took(d time.Duration) {
	if q.cost == 0 || d < q.cost {
		q.cost = d
	}
}

// Next plans the next look: soon at first, later at an interval in proportion to a look's cost.
func (q *Quest) Next(now int64) {
	wait := q.every
	if q.every >= MostLook {
		wait = max(wait, min(q.cost*LookShare, rarest))
	}
	q.At = now + int64(wait)
	q.every = min(2*q.every, q.most)
}
