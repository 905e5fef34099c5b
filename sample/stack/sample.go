package stack

// Image is a file that code was mapped from.
type Image struct {
	// Path is where the file lay; "" where nobody knows. The kernel itself is
	// "kernel".
	Path string
	// ID is its UUID (upper case, with dashes) or its build ID (lower-case
	// hexadecimal), as debuggers ask for it; "" if it has none.
	ID string
	// Base is where its beginning (on macOS its __TEXT) was in the process's
	// memory: addresses minus Base are offsets in the file's own terms. For an
	// ELF image that is the load bias, so that an offset is an address as the
	// file's own symbols have it.
	Base uint64
	// Cache says that it is a part of the system's shared cache.
	Cache bool
	// CacheID is the UUID of that cache, and CacheSlide by how much higher it is than
	// where it was made for: with both, what is in the cache's own files is found.
	// "" where neither is known.
	CacheID    string
	CacheSlide uint64
}

// Frame is one place in a stack.
type Frame struct {
	// Image is where the code is from; nil where that is not known (code that
	// was made at run time, a chain that was damaged).
	Image *Image
	// Address is the absolute one, without a signature of pointer authentication.
	// In all frames but the innermost it is where the call returns to.
	Address uint64
	// Name is the function as the symbols of the image have it, not demangled; ""
	// where it is not known yet.
	Name string
	// File and Line are known where the image tells them (programs in Go).
	File string
	Line int
	// Kernel frames are the kernel's own.
	Kernel bool
}

// Offset is the place in the image, or the address where there is none.
func (f *Frame) Offset() uint64 {
	if f.Image == nil {
		return f.Address
	}
	return f.Address - f.Image.Base
}

// Thread is whose stack it is.
type Thread struct {
	PID int32
	// Process is the key of the process's instance in the domain "process",
	// as sample/proc makes it: "PID/START" on Linux, a number of its own on macOS. ""
	// where it is not known.
	Process string
	// Command is the process's name.
	Command string
	TID     uint64
	// Name and Queue are what the program called the thread and the dispatch
	// queue that it worked for.
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
	// Truncated ones are deeper than the sampler goes.
	Truncated
	// Broken ones have a damaged chain of frames.
	Broken
)

// Sample is a stack that a thread was seen with.
type Sample struct {
	Thread Thread
	State  State
	// Wait is what it waited for, in the kernel's words, where these are known:
	// "futex_wait_queue", "mach port 0x1203".
	Wait string
	End  End
	// Frames are the innermost one first.
	Frames []Frame
	// Count is how many samples this stands for.
	Count uint32
}

// Statistics are what a session of sampling came to.
type Statistics struct {
	// Rounds are the times at which it was due to look, Missed those at which it was
	// too late and did not.
	Rounds, Missed int
	Samples        int
	// Gone are threads and processes that ended while they were looked at.
	Gone int
	// Failed are threads that could not be read, with the last reason in Why.
	Failed int
	Why    string
	// Suspended are the lengths of suspensions in nanoseconds: how many, half of
	// them were below, and the longest.
	Suspensions     int
	Median, Longest int64
	// Tasks counts the task ports that were asked for: the kernel logs refused ones.
	Tasks int
	// Hung counts calls of the kernel's that did not return; each keeps a thread for good.
	Hung int
	// HungCall is the name of the last of them.
	HungCall string
	// How is the way it went: "mach", "stackshot", "perf", "proc".
	How string
}
