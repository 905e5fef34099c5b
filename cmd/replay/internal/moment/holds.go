package moment

import (
	"context"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// longestPiece is how much time is searched at once for a condition. Archives whose clocks span
// years are searched in at most mostPieces pieces.
const (
	longestPiece = 12 * block
	mostPieces   = 200
)

// Holds returns the next time in which a condition held: one that begins after an instant, or
// ended before it. It ends soon after ctx does, and Progress returns how much of the recording it
// has searched: a month takes seconds. A search that was cancelled continues where it was if it
// is asked again before any other search.
func (r *Recording) Holds(ctx context.Context, condition string, at int64, forward bool) (from, to int64, ok bool, err error) {
	r.Until(ctx)
	defer r.Until(context.Background())
	c, err := query.CompileCondition(r.a, r.defs, condition)
	if err != nil {
		return 0, 0, false, err
	}
	s := r.search
	if r.search = nil; s == nil || s.condition != condition || s.forward != forward || s.at != at {
		s = &search{condition: condition, forward: forward, at: at, slack: 5 * r.tickOf(c, at) / 2, open: make(map[string]span)}
	}
	// The recording is searched piece by piece, each longer than the last, so that what is near
	// is found soon.
	whole := r.to - at
	if !forward {
		whole = at - r.from
	}
	longest := max(longestPiece, (r.to-r.from)/mostPieces)
	if s.length == 0 {
		s.length, s.edge = max(block, longest/12), min(at, r.to)
		if !forward {
			s.edge = max(at, r.from)
		}
	}
	for ; ; s.length = min(2*s.length, longest) {
		r.progress.set(max(s.edge-at, at-s.edge), whole)
		w := r.window(s.edge, min(s.edge+s.length, r.to))
		if !forward {
			w = r.window(max(s.edge-s.length, r.from), s.edge)
		}
		if w.To <= w.From {
			s.turn()
			s.turn()
			return s.best.from, s.best.to, s.found, nil
		}
		var held []*query.Held
		for h, err := range query.Find(r.a, c, query.Request{Window: w, Mode: query.Shown}, 0) {
			if err != nil && ctx.Err() == nil {
				return 0, 0, false, err
			}
			held = append(held, h)
		}
		if err := ctx.Err(); err != nil {
			r.search = s // Nothing found in this piece counts.
			return 0, 0, false, err
		}
		for _, h := range held {
			s.take(h, w)
		}
		if s.turn() {
			return s.best.from, s.best.to, true, nil
		}
		if s.edge = w.To + 1; !forward {
			s.edge = w.From - 1
		}
	}
}

// tickOf returns how far apart the values of a condition are.
func (r *Recording) tickOf(c *query.Condition, at int64) int64 {
	tick := int64(0)
	for _, name := range c.Metrics() {
		if d := r.a.Lookup(name); d != nil && d.Class != metric.Static {
			if iv := r.every(d.Class, at); tick == 0 || iv < tick {
				tick = iv
			}
		}
	}
	return max(tick, int64(time.Second))
}

type span struct{ from, to int64 }

// search joins the pieces: a time that reaches the end of one piece continues in the next.
type search struct {
	condition string
	edge      int64 // how far the search has come
	length    int64 // length of the next piece
	forward   bool
	at, slack int64
	open      map[string]span // by instance: times that reach the edge
	next      map[string]span
	best      span
	found     bool
}

// take adds a time that was found in a piece.
func (s *search) take(h *query.Held, w query.Window) {
	key := ""
	if h.Instance != nil {
		key = h.Instance.Key
	}
	one := span{h.From, h.To}
	begins, ends := h.From-w.From <= s.slack, w.To-h.To <= s.slack
	if !s.forward {
		begins, ends = ends, begins
	}
	if before, ok := s.open[key]; ok && begins {
		one = span{min(before.from, one.from), max(before.to, one.to)}
		delete(s.open, key)
	}
	if ends {
		if s.next == nil {
			s.next = make(map[string]span)
		}
		s.next[key] = one
		return
	}
	s.consider(one)
}

// consider compares a time that is known from its beginning to its end with the best so far.
func (s *search) consider(one span) {
	switch {
	case s.forward && one.from > s.at && (!s.found || one.from < s.best.from),
		!s.forward && one.to < s.at && (!s.found || one.to > s.best.to):
		s.best, s.found = one, true
	}
}

// turn ends a piece: times that did not continue in it had ended before. It reports whether the
// next time is known.
func (s *search) turn() bool {
	for _, one := range s.open {
		s.consider(one)
	}
	s.open, s.next = s.next, nil
	if !s.found {
		return false
	}
	for _, one := range s.open {
		if s.forward && one.from > s.at && one.from < s.best.from || !s.forward && one.to < s.at && one.to > s.best.to {
			return false // It comes first, but its end is not known yet.
		}
	}
	return true
}
