package mach

import (
	"errors"

	"tachograph/sample/stack/chain"
)

// port is a name of a right in the kernel, code the result of a Mach call.
type (
	port uint32
	code int32
)

// Codes that mean that the object of a right is gone: its thread or task has ended, maybe since
// we got the right.
const (
	kernInvalidArgument code = 4
	resourceShortage    code = 6
	kernTerminated      code = 37
	sendInvalidDest     code = 0x10000003
	serverDied          code = -308
	notSupported        code = 46
	timedOut            code = 49
)

func (c code) gone() bool {
	return c == kernInvalidArgument || c == kernTerminated || c == sendInvalidDest || c == serverDied
}

// errRefused means that the kernel does not let us look into a process, errGone that there is
// no such process.
var (
	errRefused = errors.New("the kernel refuses it")
	errGone    = errors.New("there is no such process")
)

// kernel is what a session needs of Darwin's kernel. One thread makes all calls of a session,
// one after the other, except Resume and Close, which may come from any thread.
type kernel interface {
	// Open asks for the right to look into a process, and returns how often it asked.
	Open(pid int32) (task port, asked int, err error)
	// Close gives a right back.
	Close(p port)
	// Self is this process's own task, which must not be closed.
	Self() port
	// Process returns the process that has a pid now.
	Process(pid int32) (process, bool)
	// Mapped returns the file that a process has mapped at an address; "" if unknown.
	Mapped(pid int32, addr uint64) string
	// Threads appends a right to each thread of a task.
	Threads(task port, to []port) ([]port, code)
	// Identify and Describe return what never changes and what changes about a thread.
	Identify(thread port, id *identity) code
	Describe(thread port, d *description) code
	Registers(thread port, translated bool, r *chain.Registers) code
	Read(task port, addr uint64, b []byte) bool
	// Suspend stops a task until Resume, or Close of the token.
	Suspend(task port) (token port, c code)
	Resume(token port) code
	// Dyld returns the address and size of dyld's list of images in a task.
	Dyld(task port) (at, size uint64)
	// Cache is the address of the shared cache in this process; 0 if there is none.
	Cache() uint64
	// Now is a clock, in nanoseconds.
	Now() uint64
	// Shot takes a stackshot of a process, or of all processes for -1.
	Shot(pid int32, flags uint64, read func(shot []byte)) error
	// Message returns the text of a code.
	Message(c code) string
}

// process identifies and describes a process.
type process struct {
	pid        int32
	key        string // its instance among the metrics of processes
	command    string
	path       string
	translated bool // its code is for the other processor
}

type identity struct {
	id    uint64
	queue uint64 // address of a pointer to its dispatch queue
}

type description struct {
	state        int32
	user, system uint64 // nanoseconds of CPU time, to the microsecond
	name         [64]byte
}

const stateRunning = 1

// Registers as words of 32 bits, as the kernel gives them.
const (
	armWords   = 68
	intelWords = 42
)

func pair(words []uint32, i int) uint64 { return uint64(words[i]) | uint64(words[i+1])<<32 }

// armRegisters reads an ARM_THREAD_STATE64. For a translated program, the translator keeps the
// stack and frame pointers of the program's own processor in other registers.
func armRegisters(words []uint32, translated bool, r *chain.Registers) {
	*r = chain.Registers{FP: pair(words, 58), LR: pair(words, 60), SP: pair(words, 62), PC: pair(words, 64)}
	if translated {
		r.SP, r.FP, r.LR = pair(words, 8), pair(words, 10), 0
	}
}

// intelRegisters reads an x86_THREAD_STATE64.
func intelRegisters(words []uint32, r *chain.Registers) {
	*r = chain.Registers{FP: pair(words, 12), SP: pair(words, 14), PC: pair(words, 32)}
}
