package stack

import (
	"cmp"
	"slices"
)

// Image is a file that code was mapped from.
type Image struct {
	// Path is the file's path; "" if unknown. The kernel itself is "kernel".
	Path string
	// ID is its UUID (upper case, with dashes) or its build ID (lower-case hexadecimal), as
	// debuggers look it up; "" if it has none.
	ID string
	// Base is the address of its beginning (on macOS its __TEXT) in the process's memory:
	// addresses minus Base are offsets in the file's own terms. For an ELF image that is the
	// load bias, so that an offset is an address as in the file's own symbols.
	Base uint64
	// Cache says that the image is a part of the system's shared cache.
	Cache bool
	// CacheID is the UUID of that cache, and CacheSlide by how much it is loaded above the
	// address that it was made for: with both, code is found in the cache's own files. CacheID
	// is "" if neither is known.
	CacheID    string
	CacheSlide uint64
}

// Frame is one place in a stack.
type Frame struct {
	// Image is the code's file; nil if unknown (code made at run time, a damaged chain).
	Image *Image
	// Address is absolute, without a signature of pointer authentication. In all frames but the
	// innermost it is where the call returns to.
	Address uint64
	// Name is the function's name in the symbols of the image, not demangled; "" if it is not
	// known yet.
	Name string
	// File and Line are set if the image has them (programs in Go), or the interpreter (Python).
	File string
	Line int
	// Start is the line that the function begins at. It is set for functions that are known only
	// to an interpreter: they have neither an image nor an address.
	Start int
	// Kernel says that the frame is in the kernel.
	Kernel bool
}

// Offset returns the offset in the image, or the address if there is no image.
func (f *Frame) Offset() uint64 {
	if f.Image == nil {
		return f.Address
	}
	return f.Address - f.Image.Base
}

// Thread is the thread that a stack belongs to.
type Thread struct {
	PID int32
	// Process is the key of the process's instance in the domain "process", as sample/proc
	// makes it: "PID/START" on Linux, a unique number on macOS. "" if unknown.
	Process string
	// Command is the process's name.
	Command string
	TID     uint64
	// Name and Queue are the program's names for the thread and for the dispatch queue that it
	// worked for.
	Name, Queue string
}

// State is what a thread was doing.
type State uint8

const (
	// Running threads had a processor, or wanted one.
	Running State = iota
	// Waiting threads waited for something.
	Waiting
)

// End is how the walk along a stack ended.
type End uint8

const (
	// Whole stacks have been walked to their outermost frame.
	Whole End = iota
	// Truncated ones are deeper than the sampler goes, or than the copy of the stack that it has.
	Truncated
	// Broken ones end at a frame whose caller cannot be found: the chain of frames is damaged, or
	// there is none and the code does not say where its callers are.
	Broken
)

// Sample is a stack of a thread at one moment.
type Sample struct {
	Thread Thread
	State  State
	// Wait is what the thread waited for, in the kernel's words, if known: "futex_wait_queue",
	// "mach port 0x1203".
	Wait string
	End  End
	// Frames begins with the innermost frame.
	Frames []Frame
	// Count is how many equal samples this one represents. It is 0 if the sampler's clock did not
	// see the thread like this, and only Waited is known.
	Count uint32
	// Waited is for how many nanoseconds the thread waited like this, where the kernel reported
	// when the waits began and ended.
	Waited uint64
	// Waker is who ended these waits, or who has what the thread waits for; nil if unknown.
	Waker *Waker
}

// Waker is the thread that a waiting thread waits for.
type Waker struct {
	// Thread has no PID if an interrupt ended the wait: of a timer, a disk, the network.
	Thread Thread
	// Frames is its stack when it ended the wait, with the innermost frame first; empty if
	// unknown.
	Frames []Frame
}

// Statistics describe a session of sampling.
type Statistics struct {
	// Rounds is how often it was due to sample, Missed how many of these times it was too late
	// and did not.
	Rounds, Missed int
	Samples        int
	// Gone is how many threads and processes ended while they were being read.
	Gone int
	// Failed is how many threads could not be read; Why has the last reason.
	Failed int
	Why    string
	// Broken is how many of the samples end where their stack could not be followed any further,
	// Cut how many are longer than was read of them.
	Broken, Cut int
	// Suspensions is how often something was suspended. Suspended is for how long in all, Median
	// and Longest are the median and the greatest length, in nanoseconds; Spread has all lengths.
	Suspensions                int
	Suspended, Median, Longest int64
	Spread                     Spread
	// Tasks counts the task ports asked for: the kernel logs those that it refuses.
	Tasks int
	// Hung are the calls of the kernel that did not return; each uses up a thread for good.
	Hung []string
	// Waits is how many waits were measured, and WaitsLost how many records of them the kernel
	// could not keep. WaitsWhy says why waits were not measured, or not until the end.
	Waits, WaitsLost int
	WaitsWhy         string
	// Python is why the functions of some program in Python are not known; "" if there is no
	// reason.
	Python string
	// How is the method that was used: "mach", "stackshot", "perf", "proc".
	How string
}

// After adds those of an earlier part of the session, which a call that hung ended.
func (s *Statistics) After(e *Statistics) {
	s.Rounds, s.Missed, s.Samples = s.Rounds+e.Rounds, s.Missed+e.Missed, s.Samples+e.Samples
	s.Gone, s.Failed, s.Broken, s.Cut = s.Gone+e.Gone, s.Failed+e.Failed, s.Broken+e.Broken, s.Cut+e.Cut
	s.Tasks, s.Waits, s.WaitsLost = s.Tasks+e.Tasks, s.Waits+e.Waits, s.WaitsLost+e.WaitsLost
	s.Hung = append(slices.Clone(e.Hung), s.Hung...)
	s.Why, s.WaitsWhy, s.Python = cmp.Or(s.Why, e.Why), cmp.Or(s.WaitsWhy, e.WaitsWhy), cmp.Or(s.Python, e.Python)
}
