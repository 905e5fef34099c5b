// Package fault represents what can go wrong with a file: an Error with its operation, path and
// kind, and a Loss of something that was recorded.
package fault

import "fmt"

// No check foresees everything that a foreign file may hold. If this program fails while it
// reads one, the failure stays with that file: it is reported, and the answer goes on with the
// others.

// Failed is a panic while reading a file.
type Failed struct{ Cause any }

func (e Failed) Error() string {
	return fmt.Sprintf("this program failed over what it holds, which is a mistake of the program; please report it: %v", e.Cause)
}

// Contain runs fn, which reads a file, and turns a panic into an error.
func Contain(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Failed{p}
		}
	}()
	return fn()
}
