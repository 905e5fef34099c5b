// Package pmda answers PCP from the machine at hand: what pcpserve.Metrics asks for is
// read when it is asked for, through the tables and sources that recording uses.
//
// It adds to package demand what that does not know: what there is to ask for and when
// that changes, metrics that are computed from others, and the one thing that may be
// set, whose threads are read.
package pmda
