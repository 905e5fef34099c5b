package store

import "fmt"

// No check foresees everything that a stranger's file may hold. Where reading
// one makes this program fail all the same, the failure stays with that file:
// it is told, and the answer goes on with the others.

// errFailed is a panic while a file was read.
type errFailed struct{ cause any }

func (e errFailed) Error() string {
	return fmt.Sprintf("this program failed over what it holds, which is a mistake of the program; please report it: %v", e.cause)
}

// contain runs fn, which reads a file, and makes an error of a panic.
func contain(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errFailed{p}
		}
	}()
	return fn()
}

// contain runs fn, which reads a and hands out what it finds, and notes a panic
// with a. While *out is true the program is not reading but doing something
// with what it was handed; then a panic is somebody else's.
func (a *archive) contain(out *bool, fn func() bool) (goOn bool) {
	defer func() {
		if *out {
			return
		}
		if p := recover(); p != nil {
			a.info.Failed = true
			a.hurt(fmt.Errorf("store: %s: %w", a.info.Path, errFailed{p}))
			goOn = true
		}
	}()
	return fn()
}

// handing is yield that says when it is running.
func handing[T any](out *bool, yield func(T, error) bool) func(T) bool {
	return func(v T) bool {
		*out = true
		goOn := yield(v, nil)
		*out = false
		return goOn
	}
}
