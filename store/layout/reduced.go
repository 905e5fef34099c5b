package layout

import (
	"strings"

	"tachograph/sample/metric"
)

// A Reduction says what a reduced archive was made from. A reduced archive holds one reading for
// each step of the wall clock where others hold many.
type Reduction struct {
	// Step is the length of the steps in nanoseconds. They begin at midnight UTC.
	Step int64 `json:"step"`
	// Of are the IDs of the archives that it was made of.
	Of []string `json:"of,omitempty"`
}

// Companions are what a reduced archive keeps of a step beside the last reading of a metric, as
// metrics of their own: reduced.max.mem.util.free is the largest value that mem.util.free had in
// the step.
const (
	ReducedPrefix = "reduced."

	First    = "first"    // the first value
	Min      = "min"      // the smallest one,
	Max      = "max"      // the largest one,
	Mean     = "mean"     // and the mean from the first reading to the last, by time
	Steepest = "steepest" // the most that a counter gained in a second from one reading to the next
	Lived    = "lived"    // for how much of a step a process was there, if not for all of it

	// For each group of processes, at its first metric:
	Came = "came" // how long after the first reading of a step a process was read first
	Went = "went" // and how long before the last one it was read last
)

// StepGroup is the group that says, of each other group of its class, how long before a block
// its first reading was, and how many readings there were. StepIndom is its instance domain,
// whose instances are the groups.
const (
	StepGroup      = "reduced steps"
	StepIndom      = "group"
	BeganMetric    = ReducedPrefix + "began"
	ReadingsMetric = ReducedPrefix + "readings"
	OthersKey      = "others" // the key that stands for all processes without a row of their own
)

// Companion returns the name of a companion of a metric.
func Companion(what, name string) string { return ReducedPrefix + what + "." + name }

// IsReduced reports whether a metric is one that only reduced archives have.
func IsReduced(name string) bool { return strings.HasPrefix(name, ReducedPrefix) }

// StepKey returns the key of a group's instance in StepIndom.
func StepKey(class metric.Class, group string) string { return class.String() + "/" + group }
