package query

import (
	"cmp"
	"runtime"
	"sync"
)

// A pair answers questions with two workers where there are cores for that. Each has an archive
// of its own, which keeps what it has decoded for the next questions.
type pair struct {
	a, twin Archive // twin is nil where there is one worker
	end     func()
}

// pairOf makes a pair. The caller calls close when it has no more questions.
func pairOf(a Archive) *pair {
	p := &pair{a: a}
	if runtime.GOMAXPROCS(0) > 1 {
		p.twin, p.end = a.Twin()
	}
	return p
}

// close ends the second worker, if that has not been done.
func (p *pair) close() {
	if p.twin != nil {
		p.end()
		p.twin = nil
	}
}

// beside answers two questions at once, or one after the other. A panic of the second becomes a
// panic of the caller.
func (p *pair) beside(first, second func(Archive) error) error {
	if p.twin == nil {
		if err := first(p.a); err != nil {
			return err
		}
		return second(p.a)
	}
	done := make(chan struct{})
	var err error
	var fell any
	go func() {
		defer close(done)
		defer func() { fell = recover() }()
		err = second(p.twin)
	}()
	before := func() error {
		defer func() { <-done }() // also where the first panics
		return first(p.a)
	}()
	if fell != nil {
		panic(fell)
	}
	return cmp.Or(before, err)
}

// work answers the questions that next returns to each worker, until it returns nil. The error is
// that of one of the questions that fail.
func (p *pair) work(next func(first bool) func(Archive) error) error {
	worker := func(first bool) func(a Archive) error {
		return func(a Archive) (err error) {
			for q := next(first); q != nil && err == nil; q = next(first) {
				err = q(a)
			}
			return err
		}
	}
	return p.beside(worker(true), worker(false))
}

// shared answers the questions.
func (p *pair) shared(questions ...func(Archive) error) error {
	var mu sync.Mutex
	left := bothEnds[func(Archive) error]{questions}
	return p.work(func(first bool) func(Archive) error {
		mu.Lock()
		defer mu.Unlock()
		q, _ := left.take(first)
		return q
	})
}

// bothEnds is a list that is handed out to two workers, to one from its beginning, to the other from its end.
// Questions about the same time are mostly near each other, and then go to the worker that has
// decoded what they are about.
type bothEnds[T any] struct{ rest []T }

// take returns an element that is left, if there is one.
func (l *bothEnds[T]) take(first bool) (x T, ok bool) {
	n := len(l.rest)
	switch {
	case n == 0:
		return x, false
	case first:
		x, l.rest = l.rest[0], l.rest[1:]
	default:
		x, l.rest = l.rest[n-1], l.rest[:n-1]
	}
	return x, true
}

// Beside answers two questions at once where there are cores for that, else one after the other.
// A panic of the second becomes a panic of the caller.
func Beside(a Archive, first, second func(Archive) error) error {
	p := pairOf(a)
	defer p.close()
	return p.beside(first, second)
}
