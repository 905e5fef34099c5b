// Package metric is the vocabulary that the reading of metrics (package sample) and the storing
// of values (package store) share: what a metric is, what an instance is, what a value is and
// why a value may be absent.
//
// It holds types and arithmetic only. Nothing here reads a kernel or a file.
//
// A metric is a row of data, a Desc. Metrics that are read together and share an instance domain
// form a Group; one reading of a group is a Block, stored column by column; the blocks of one
// class that were read at one deadline form a Tick. Values are exact: integers keep the 64 bits
// that the kernel gave, floats their IEEE bits, strings stay strings, and a value that could not
// be read has a Reason and is never zero.
package metric
