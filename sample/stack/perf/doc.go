// Package perf samples stacks on Linux.
//
// Threads that run are seen by the kernel's own sampler (perf_event_open): its
// clock interrupts each processor as often as is wished, and puts the stack that it
// finds by frame pointers into memory that this package reads. Nothing is stopped,
// traced or written to, and what is not running costs nothing. The clock is the one
// of software: every machine has it, a virtual one as well, and its samples are
// time, which is what they are compared with here.
//
// Threads that wait are not seen by a clock that only ticks on processors. What they
// wait for is asked for besides, more seldom, in /proc: where in the kernel they are
// and from where they called it. Such a sample stands for as many of the others as
// were due in the time between two looks, so that shares of time come out right.
// Of one process all threads are asked; of all only those that nothing can wake
// (state D), which are the ones that matter and few.
//
// A thread that wants a processor and does not get one is seen by neither: on a
// machine with too much to do, the samples of a thread are the time that it got.
//
// Where the kernel allows no perf events, /proc is all there is: then threads are
// seen while they wait, and not while they run.
//
// The outer frames of code that was compiled without frame pointers are missing, as
// in every sampler that goes by them; and where the innermost function is so small
// that it has no frame, the one that called it is.
package perf
