package query

import (
	"cmp"
	"runtime"
	"sync/atomic"
)

// shared answers the questions with two workers, each of which takes the next question when it is
// free. The error is that of the first question that fails.
func shared(a Archive, questions ...func(Archive) error) error {
	var next atomic.Int32
	errs := make([]error, len(questions))
	work := func(a Archive) error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(questions) {
				return nil
			}
			errs[i] = questions[i](a)
		}
	}
	if err := Beside(a, work, work); err != nil {
		return err
	}
	return cmp.Or(errs...)
}

// Beside answers two questions at once where there are cores for that, else one after the other.
// A panic of the second becomes a panic of the caller.
func Beside(a Archive, first, second func(Archive) error) error {
	var twin Archive
	var end func()
	if runtime.GOMAXPROCS(0) > 1 {
		twin, end = a.Twin()
	}
	if twin == nil {
		if err := first(a); err != nil {
			return err
		}
		return second(a)
	}
	done := make(chan struct{})
	var err error
	var fell any
	go func() {
		defer close(done)
		defer func() { fell = recover() }()
		err = second(twin)
	}()
	wait := func() {
		<-done
		end()
	}
	before := func() error {
		defer wait() // also where the first panics
		return first(a)
	}()
	if fell != nil {
		panic(fell)
	}
	return cmp.Or(before, err)
}
