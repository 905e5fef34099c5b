// Package engine decides what is read when, and keeps time.
//
// Each class of metrics has a goroutine with deadlines of its own: the next one
// is the last plus the interval, so they do not drift, and those that could
// not be kept are counted and skipped, so that ticks never come bunched. A
// class reads its sources one after the other. A source that does not come
// back is left behind with the goroutine that is stuck in it, a new goroutine
// goes on with the class, and the source is tried again, less and less often,
// once it has answered.
//
// A burst reads some classes more often for a while, within what the budget left
// over before; then they go back to the deadlines that they had.
//
// A single keeper goroutine looks once a second for what nobody else can see:
// sources that hang, sleep, steps of the clock, a changed time zone, and a
// recorder that uses more than it may.
//
// All deadlines are on the awake clock, which stands still while the machine
// sleeps: after nine hours of sleep nothing is late. Sleep itself is seen as
// the continuous clock running away from the awake one.
package engine
