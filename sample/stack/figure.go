package stack

import (
	"strconv"

	"tachograph/sample/metric"
)

// A Figure is a number of a sampling session, which the session's event has as a label.
type Figure struct {
	Name  string // a word or two
	Words string // what it is
	label string
	zero  bool // the label is left out if the number is 0
}

// Figures are what was taken in a session, and what was not.
var Figures = []Figure{
	{"rounds", "times that stacks were due", "rounds", false},
	{"taken", "samples", "samples", false},
	{"skipped", "of these times, because it was too late", "missed", true},
	{"gone", "threads and processes that ended while they were read", "gone", true},
	{"unread", "threads that could not be read", "failed", true},
	{"walk errors", "samples whose stack could not be followed to its outermost function", "walk_errors", false},
	{"cut", "samples of which not all functions were read", "cut", false},
	{"hung", "calls of the kernel's that did not return", "hung", true},
	{"waits", "waits that were measured", "waits", false},
	{"waits lost", "records of waits that the kernel could not keep", "waits_lost", false},
	{"suspensions", "times that the process was stopped to be read", "suspensions", true},
}

// Lengths are how long something was suspended, in nanoseconds.
var Lengths = []Figure{
	{"suspended_ns", "in all", "suspended_ns", false},
	{"suspended_median_ns", "half of them at most", "suspended_median_ns", false},
	{"suspended_longest_ns", "the longest", "suspended_longest_ns", false},
}

// Of returns the number of a session; false if its event does not have it: recorders write more
// of them than they once did.
func (f *Figure) Of(e *metric.Event) (n uint64, ok bool) {
	text := e.Label(f.label)
	if text == "" {
		return 0, f.zero
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// Note returns what else the event says about the number.
func (f *Figure) Note(e *metric.Event) string {
	if f.label == "failed" {
		return e.Label("why_failed")
	}
	return ""
}

// SpreadText is the label of an event that ReadSpread reads.
const SpreadText = "suspended_up_to_ns"
