// Package pcp is what Performance Co-Pilot and this program have to say to each
// other, whatever carries it: how a metric's number, type, semantics and units are
// written, which instance domain it has, what it may be called, how values are
// put into blocks and labels into JSON. Archives use it, and so does the protocol of
// PCP's agents (package pdu): both hold the same numbers for the same things.
//
// It knows no files and no connections, and depends on the vocabulary of
// sample/metric alone.
package pcp
