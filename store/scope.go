package store

import (
	"context"
	"runtime"
)

// A scope is what a question may see, and what it shares with other questions.
type scope struct {
	*shared
	limits  Limits
	until   context.Context
	twinned bool // it is that of a Reader with a twin, or of the twin
}

// shared is what the scopes of a Reader and its views share.
type shared struct {
	instances
	crew *crew // nil unless it runs ahead
}

// over reports whether the context of Until has ended.
func (s *scope) over() bool { return s.until != nil && s.until.Err() != nil }

// handing wraps yield: *out is true while yield runs, and the answer ends when the context of s
// has ended.
func handing[T any](s *scope, out *bool, yield func(T) bool) func(T) bool {
	return func(v T) bool {
		*out = true
		goOn := yield(v)
		*out = false
		return goOn && !s.over()
	}
}

// helpers returns how many processors run ahead with n pieces of work.
func (s *scope) helpers(n int) int {
	helpers := min(runtime.GOMAXPROCS(0)-1, mostHelpers)
	if s.twinned {
		helpers-- // the twin has that processor
	}
	if n < leastAhead {
		return 0
	}
	return max(helpers, 0)
}

// ahead calls use for 0 to n-1 in turn, until it returns false. Where there are processors to
// run ahead, it also calls work for each number, before use's done returns for that number. If
// work panicked, done panics too. work must touch nothing that work or use of other numbers
// changes. Where there are no such processors done is nil, and use has to do the work itself.
func (s *scope) ahead(n int, work func(i int), use func(i int, done func()) bool) {
	helpers := s.helpers(n)
	if helpers == 0 {
		for i := range n {
			if !use(i, nil) {
				return
			}
		}
		return
	}
	c := &crew{work: work, pieces: make([]piece, n)}
	c.free.L, c.turned.L = &c.mu, &c.mu
	before := s.crew
	s.crew = c
	defer func() {
		c.end()
		s.crew = before
	}()
	for range helpers {
		c.helpers.Go(c.help)
	}
	for i := range n {
		if !use(i, func() { c.await(i) }) {
			return
		}
		c.use(i)
	}
}

// alone ends the helpers of a question that is interrupted by another one to the same reader.
// Their remaining work is done when its turn comes.
func (s *scope) alone() {
	if s.crew != nil {
		s.crew.end()
	}
}
