// Package fault says what can go wrong with a file in values: an Error with its
// operation, path and kind, and a Loss of something that was recorded.
package fault

import "fmt"

// No check foresees everything that a stranger's file may hold. Where reading
// one makes this program fail all the same, the failure stays with that file:
// it is told, and the answer goes on with the others.

// Failed is a panic while a file was read.
type Failed struct{ Cause any }

func (e Failed) Error() string {
	return fmt.Sprintf("this program failed over what it holds, which is a mistake of the program; please report it: %v", e.Cause)
}

// Contain runs fn, which reads a file, and makes an error of a panic.
func Contain(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Failed{p}
		}
	}()
	return fn()
}
