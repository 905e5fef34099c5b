// Package pcp translates between Performance Co-Pilot and this program, independent of the
// transport: a metric's number, type, semantics and units, its instance domain, the names it may
// have, the encoding of values in blocks and of labels in JSON. Archives use it, and so does the
// protocol of PCP's agents (package pdu): both hold the same numbers for the same things.
//
// It knows no files and no connections, and depends only on the vocabulary of sample/metric.
package pcp
