package query

import (
	"slices"
	"strings"
	"time"
)

// Failed reports whether a process that ended so did not end well: not with exit 0,
// nor by a signal that asks to end. Of one that nothing is told of it does not.
func Failed(how string) bool {
	switch how {
	case "", "exit 0", "signal 1", "signal 2", "signal 13", "signal 15":
		return false
	}
	return true
}

// faults are the signals of what a process did itself, on Linux and on macOS.
var faults = []string{"4", "5", "6", "7", "8", "10", "11", "12", "31"}

// Crashed reports whether a process that ended so was ended by a fault of its own:
// not by a signal that others send, nor by its own decision.
func Crashed(how string) bool {
	number, signal := strings.CutPrefix(how, "signal ")
	number, core := strings.CutSuffix(number, " core")
	return core || signal && slices.Contains(faults, number)
}

// Rhythm is how far apart things happen that happen in one: three of four gaps are
// near the one in the middle. It is zero where they do not, or faster than the
// commands of a script. It sorts the gaps.
func Rhythm(gaps []int64) time.Duration {
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	middle := gaps[len(gaps)/2]
	near := 0
	for _, g := range gaps {
		if g >= middle/2 && g <= 2*middle {
			near++
		}
	}
	if 4*near < 3*len(gaps) || middle < int64(leastRhythm) {
		return 0
	}
	return time.Duration(middle)
}
