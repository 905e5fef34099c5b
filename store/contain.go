package store

import (
	"tachograph/store/fault"
)

// contain runs fn, which reads a and hands out what it finds, and notes a panic
// with a. While *out is true the program is not reading but doing something
// with what it was handed; then a panic is somebody else's.
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

// handing wraps yield: *out is true while yield runs, and the answer ends when the context
// of r has ended.
func handing[T any](r *Reader, out *bool, yield func(T) bool) func(T) bool {
	return func(v T) bool {
		*out = true
		goOn := yield(v)
		*out = false
		return goOn && !r.over()
	}
}
