package query

import (
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// Failed reports whether a process that ended this way failed: neither with exit 0, nor by a
// signal that asks a process to end, nor because it was idle. An unknown end is no failure.
func Failed(how string) bool {
	switch how {
	case "", "exit 0", metric.HowIdle, "signal 1", "signal 2", "signal 13", "signal 15":
		return false
	}
	return true
}

// faults are the signals for faults of the process itself, on Linux and on macOS.
var faults = []string{"4", "5", "6", "7", "8", "10", "11", "12", "31"}

// Crashed reports whether a process that ended this way was ended by a fault of its own: not by a
// signal that others send, nor by its own decision.
func Crashed(how string) bool {
	number, signal := strings.CutPrefix(how, "signal ")
	number, core := strings.CutSuffix(number, " core")
	return core || signal && slices.Contains(faults, number)
}

// Rhythm returns the usual time between events that follow one rhythm: three of four gaps are
// near the median gap. It is zero if they are not, or if the gaps are shorter than those between
// the commands of a script. It sorts the gaps.
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
