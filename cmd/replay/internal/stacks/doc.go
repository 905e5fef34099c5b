// Package stacks reads sampled stacks out of archives: what the threads of a
// window's processes were doing, as a tree of calls, as a list of functions, and
// in the formats of profilers.
//
// sample/stack says how stacks stand in an archive: as instances that name one
// another. What is read here is whatever an archive says, so that nothing is
// taken for granted: callers that go round in circles, frames that are not there
// and names that a terminal would obey come to a profile all the same, of bounded
// size.
package stacks
