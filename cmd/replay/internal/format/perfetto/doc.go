// Package perfetto writes recordings as traces for Perfetto's viewer: counters,
// processes and events on one timeline.
//
// A trace is a sequence of packets, which are encoded here by hand, because only a dozen fields
// of Perfetto's schema are needed. Trace time begins with the window, and a snapshot of the
// clocks ties it to the wall clock.
//
// A counter of the recorder becomes its rate, over the interval in which it was measured; a
// level holds from the instant it was read. Both end where nothing was recorded, with a NaN
// value: the format has no word for "absent". To the trace processor's SQL that is NULL; its
// viewer draws it as zero. A long window is reduced to steps, with the values that replay rates
// --step gives for them.
// answers for them.
package perfetto
