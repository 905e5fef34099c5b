// Package metric is the vocabulary that the readers of metrics (package
// sample) and the keeper of values (package store) share: what a metric is,
// what an instance is, what a value is and why one may be absent.
//
// It holds types and arithmetic only. Nothing here reads a kernel or a file.
//
// A metric is a row of data, a Desc. Metrics that are read together and share
// an instance domain form a Group; one reading of a group is a Block, stored
// column by column; the blocks of one class that were read at one deadline
// form a Tick. Values are exact: integers travel as the 64 bits the kernel
// gave, floats as their IEEE bits, strings as strings, and what could not be
// read travels as a Reason, never as zero.
package metric
