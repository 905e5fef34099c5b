// Package engine decides what is read when, and keeps time.
//
// Each class of metrics has a goroutine with its own deadlines. The next deadline is the last
// plus the interval, so deadlines do not drift. Missed deadlines are counted and skipped, so
// that ticks never come bunched. A class reads its sources one after the other. When a source
// hangs, the engine leaves it behind with the goroutine that is stuck in it, and a new goroutine
// goes on with the class. Once the source has answered, it is tried again, less and less often.
//
// A burst reads some classes more often for a while, within the unused part of the budget; then
// they return to their previous deadlines.
//
// A single keeper goroutine checks, usually each second, for sources that hang, sleep, steps of
// the clock, a changed time zone, and a recorder that uses more than it may.
//
// All deadlines are on the awake clock, which stops while the machine sleeps: after nine hours
// of sleep nothing is late. Sleep itself shows as the continuous clock running away from the
// awake one.
package engine
