package store

import (
	"tachograph/store/fault"
)

// contain runs fn, which reads a and yields what it finds, and records a panic with a. While
// *out is true the program is not reading but in the consumer's code; a panic there is the
// consumer's, and contain lets it pass.
func (a *source) contain(out *bool, fn func() bool) (goOn bool) {
	defer func() {
		if *out {
			return
		}
		if p := recover(); p != nil {
			a.lose(fault.Failed{Cause: p})
			goOn = true
		}
	}()
	return fn()
}

// handing wraps yield: *out is true while yield runs, and the answer ends when the context of r
// has ended.
func handing[T any](r *Reader, out *bool, yield func(T) bool) func(T) bool {
	return func(v T) bool {
		*out = true
		goOn := yield(v)
		*out = false
		return goOn && !r.over()
	}
}
