// Package perfetto writes recordings as traces for Perfetto's viewer: counters,
// processes and events on one timeline.
//
// A trace is a sequence of packets, which are encoded here by hand: it takes a
// dozen of the fields of Perfetto's schema. Trace time begins at the window, and a
// snapshot of the clocks ties it to the wall clock.
//
// A counter of the recorder becomes its rate, over the interval in which it was
// measured; a level stands from the instant it was read. Both end where nothing was
// recorded, with a value that is no number: the format has no word for "absent". To
// the trace processor's SQL that is NULL; its viewer draws it as zero.
// A long window is thinned out to steps, with the values that replay rates --step
// answers for them.
package perfetto
