// Package perf samples stacks on Linux.
//
// The kernel's own sampler (perf_event_open) sees running threads: its clock interrupts each
// processor at the wanted rate, and writes the stack that it finds by frame pointers into
// memory that this package reads. Nothing is stopped, traced or written to, and threads that do
// not run cost nothing. The clock is the software clock: every machine has it, even a virtual
// one, and its samples measure time, which is what the waiting threads' samples measure too.
//
// A clock that ticks only on processors does not see waiting threads. This package asks for
// what they wait for separately, and less often, in /proc: where in the kernel they are and
// from where they called it. Such a sample counts as many times as the clock was due between
// two looks, so that shares of time come out right. For one process it asks about all threads;
// for all processes, only about those that nothing can wake (state D), which are the ones that
// matter and few.
//
// Neither sees a thread that wants a processor and does not get one: on a machine with too much
// to do, the samples of a thread are the time that it got.
//
// Where the kernel allows no perf events, only /proc is left: then threads are seen while they
// wait, and not while they run.
//
// As in every sampler that uses frame pointers, the outer frames of code that was compiled
// without them are missing; and where the innermost function is so small that it has no frame,
// its caller is missing.
package perf
