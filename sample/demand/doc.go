// Package demand reads metrics on request. It serves programs without a schedule of their own,
// whose clients ask at any time and concurrently.
//
// It reads only what was asked for. It reads each source that has some of the metrics once, with
// frames that hold just these metrics, so that the source makes only the calls that they need.
// Desc.MinInterval is the shortest interval at which reading again can give anything new. A
// value younger than that is shared among all callers instead of being read again.
//
// A source that hangs delays no caller: the others are read beside it, and the caller gets its
// metrics as timed out. The source is not asked again until it has come back, and then less and
// less often, as package engine does. A late result is kept like any other.
//
// A budget limits what reading may cost over time, however often callers ask: when it is used
// up, what is expensive to read is shared for longer.
package demand
