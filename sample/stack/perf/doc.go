// Package perf samples stacks on Linux.
//
// The kernel's own sampler (perf_event_open) sees running threads: its clock interrupts each
// processor at the wanted rate, and writes the stack that it finds by frame pointers into
// memory that this package reads. With it come the thread's registers and the inner part of its
// stack, so that programs without frame pointers can be walked by the tables of package unwind;
// where that ends, because a stack is longer than the copy or code has no tables, the kernel's
// own frames continue. Nothing is stopped, traced or written to, and threads that do
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
// Of one process, the kernel also reports each time that a thread goes to sleep, with its whole
// stack, and when the thread has a processor again, where this user may see the kernel's own
// frames. What lies between is a wait, measured to the nanosecond; a thread that lost its
// processor to another did not wait. Where tracefs is mounted and may be read, the tracepoint
// sched:sched_waking says who ended the wait, and from where. Waits with the same stack and the
// same waker are added up for about a second and given as one Sample, with the time waited and
// no Count. The count of samples stays the clock's: a look at a thread whose wait is known gives
// the stack that it went to sleep with, without asking /proc, and counts as before. So each
// thread is counted once by the clock, and its waits are measured once. A stack costs the program
// some ten microseconds: if threads go to sleep more than 2000 times a second, the kernel says
// stacks in a part of the time only. Each wait is timed all the same. A wait of less than a tenth
// of a second without a stack is represented by the thread's next one with a stack; of longer
// ones, which may be few, a look says where the thread waits. With a stack the kernel copies the
// inner 4 KB of the program's, until copies fill the rings sooner than they are read. If the kernel loses
// records, the waits of which it may have lost the end are not counted; if it loses them again
// and again, this package stops to measure and says so.
//
// Neither sees a thread that wants a processor and does not get one: on a machine with too much
// to do, the samples of a thread are the time that it got.
//
// Where the kernel allows no perf events, only /proc is left: then threads are seen while they
// wait, and not while they run.
//
// Of a program in Python, the stack only shows the interpreter. Its functions are read from its
// memory (sample/stack/python) as soon as the kernel has taken a sample, while the thread goes on:
// so they are of some ten microseconds later, and on a busy machine of up to some milliseconds. A
// sample that is read even later keeps the interpreter's own functions. Waiting threads have
// their functions too, and it is known which of them wait for the interpreter's lock, and for
// whom. A measured wait has them if they were read before it was over: those of some milliseconds
// mostly do, shorter ones do not.
//
// A call that never returns, because the kernel has it wait for a process that waits for a disk or a
// server, costs its session one goroutine: sampling goes on without that call, also in later sessions,
// until the machine is restarted. Files of images and maps are read within limits of time.
//
// Code that a program made at run time is in no file. It has the names that the program writes down
// itself, if it does (/tmp/perf-PID.map).
//
// A copy of a stack is memory of another program, with its secrets. It is walked at once, never
// kept or written anywhere, and its buffer is cleared after each reading; only addresses of code
// go on. In the kernel's ring it stays, readable by this process alone, until other samples
// overwrite it or the session ends.
//
// What is still missing: outer frames that lie beyond the copy, or above a signal's handler with
// a stack of its own, in programs without frame pointers; all beyond a function that has neither
// tables nor a frame; and of a thread that waits, all beyond a function that keeps its frame's
// address in a register, unless it is in Go or was seen going to sleep. A walk that ended early
// says so. Where the kernel refuses copies, all is found by frame pointers.
package perf
