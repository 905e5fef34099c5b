// Package stack defines sampled stacks: frames in images, of a thread, at an instant. It turns
// stacks into rows of metrics.
//
// A sampler (sample/stack/mach, sample/stack/perf) gives Samples. A Book turns the samples of
// about a second into a Tick of three groups, which the archive keeps like any other, so that
// journal, chunks, snapshots and repairs know nothing of stacks:
//
//	stack images  an instance for each file that code came from: its path, its
//	              UUID or build ID, where it was loaded
//	stack frames  an instance for each place in the tree of calls: the caller's
//	              instance, the image, the offset in it, the function's name
//	stacks        an instance for each thread and innermost frame, with how often
//	              the thread was seen there, and for how long it waited there
//
// A frame's caller is another frame, so that stacks share what they have in common. Keys begin
// with the wall clock of their Book, so that no other Book, even in another boot, has the same
// keys. Every tick has all rows that it needs, so that a window cut out of an archive is
// complete in itself.
//
// Samples and the time waited are two measures of the same threads, each complete in itself. The
// sampler's clock counts samples, also of threads that wait, as often as it is due: their shares
// are shares of time. Where the kernel reports the beginning and the end of waits, a Sample with
// no Count adds how long they lasted and who ended them. No wait counts twice in either.
package stack
