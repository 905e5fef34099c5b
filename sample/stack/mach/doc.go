// Package mach samples stacks on macOS.
//
// # One process
//
// A process that the recorder may open is looked at thread by thread. A thread that
// waits does not move: its registers and stack are read as they are, and read
// again to see that it has not run meanwhile. A thread that runs is read inside a
// suspension: registers, one read of the stack (more for deep ones), and on it
// goes; images and names are looked up afterwards.
//
// What is suspended is the task, with task_suspend2: for one thread, or some more
// where that takes less than shortWindow, and not longer than maxWindow.
// thread_suspend would stop nobody else, but what it stops stays so when the
// recorder is killed before thread_resume: the kernel keeps a count in the thread
// and nobody's name to it. task_suspend2 gives a right (a token) instead, and
// whatever becomes of the right, be it used by task_resume2, given back, or lost
// with the process that held it, the kernel resumes the task. Between the two calls
// nothing is allocated. Should the sampler not come to the second, because what it
// reads is on a disk that does not answer, a guard makes it after 20 ms. A process
// is kept from running for a twentieth of the time at most: where its threads are
// many, it is looked at less often.
//
// # All processes, and those that refuse
//
// The kernel refuses the tasks of Apple's own programs, also to root, and logs
// each refusal: a process that was refused is not asked for again. What these do
// is read from stackshots, which have everybody's threads, kernel frames included,
// and need no right but being root. While one is taken all processors stand
// still, for milliseconds on a large machine: there are at most two a second.
package mach
