// Package mach samples stacks on macOS.
//
// # One process
//
// A process that the recorder may open is sampled thread by thread. A waiting thread does not
// move: its registers and stack are read as they are, and read again to see that it has not run
// meanwhile. A running thread is read inside a suspension: registers, one read of the stack
// (more for deep ones), then it continues; images and names are looked up afterwards.
//
// Of a program in Python, the stack only shows the interpreter. Its functions are read from its
// memory (sample/stack/python) after the thread was seen, while it goes on, and so nothing is
// suspended for longer.
//
// The sampler suspends the task, with task_suspend2: for one thread, or some more if that takes
// less than shortWindow, and not longer than maxWindow. thread_suspend would stop only one
// thread, but that thread would stay suspended if the recorder were killed before
// thread_resume: the kernel keeps a count in the thread without an owner. task_suspend2 returns
// a right (a token) instead, and whatever becomes of the right, be it used by task_resume2,
// given back, or lost with the process that held it, the kernel resumes the task. Between the
// two calls nothing is allocated. If the sampler does not get to the second call, because what
// it reads is on a disk that does not answer, a guard makes it after 20 ms. A process is kept
// from running for at most a twentieth of the time: a process with many threads is sampled less
// often.
//
// # Functions without frames
//
// Stacks are walked along frame pointers. What an image's compact unwind information says of
// functions without a frame is read from the process's memory once, outside of suspensions, and
// kept. On Apple silicon only the innermost function can be one, and the link register has its
// caller, also while another function makes its frame or has just removed it. On Intel's processors
// such functions may be anywhere in a stack, so the walk inside the suspension looks up each
// function in what is kept. If that lacks something, it is read afterwards and the threads are read
// again, a few times in a round at most: so each image that a stack leads through costs one
// suspension more, once. An image without that information, or a function that it says nothing
// about, is walked by frame pointers; its innermost caller is guessed from registers and the
// beginnings of functions, or is missing.
//
// # All processes, and those that refuse
//
// The kernel refuses the tasks of Apple's own programs, even to root, and logs each refusal:
// the sampler does not ask again for a process that was refused. It reads these from
// stackshots, which have all threads of all processes, kernel frames included, and need only
// root. While a stackshot is taken all processors stand still, for milliseconds on a large
// machine: there are at most two a second.
package mach
