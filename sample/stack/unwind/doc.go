// Package unwind walks along stacks of programs that were compiled without frame pointers: with
// the tables that compilers write for exceptions and debuggers (.eh_frame, or .debug_frame where
// only that exists), on x86-64 and arm64. For each address of code such a table says where the
// caller's registers are: the row of the address.
//
// Programs in Go have frame pointers, and no such tables. But small functions have no frame, and
// of a thread that waits the frame pointer is not known: there the runtime's table says how deep
// a function has filled the stack.
//
// Where no table covers an address (code made at run time), the walk goes on by the frame
// pointer, if that points into the stack.
//
// The tables belong to strangers. Whatever they say, a walk ends: programs, expressions, depths
// and sizes are limited, and the caller's frame must lie above the called one.
package unwind
