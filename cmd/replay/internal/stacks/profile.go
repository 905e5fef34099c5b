package stacks

import (
	"fmt"
	"path"
	"strings"

	"tachograph/sample/metric"
)

// Profile is what the stacks of one host in a window come to.
type Profile struct {
	Host metric.Host
	// From and To are the wall clocks of the first and the last tick that had any.
	From, To int64
	Images   []Image
	// Functions are told apart by what they are called and by their image, those
	// without a name by where they are in it.
	Functions []Function
	Places    []Place
	Threads   []Thread
	Stacks    []Stack
	// Lost counts samples that are not among Stacks: there were too many different
	// ones, or too much text in them. LostText tells of them.
	Lost uint64
	// Unnamed is how many functions have no name.
	Unnamed int
}

// Image is a file that code was mapped from.
type Image struct {
	Path, ID string
	Base     uint64
}

// Name is what the image is called without its directories.
func (m *Image) Name() string { return path.Base(m.Path) }

// Function is one, or a place that no name is known of.
type Function struct {
	// Name is for people: demangled, or the image with the offset in it.
	Name string
	// Symbol is the name as the linker knows it; "" where it is not known.
	Symbol string
	Image  int32 // in Images, -1 if it is not known
	File   string
	Kernel bool
}

// Place is a place in a function, as it was called: a node of the tree of calls.
type Place struct {
	Caller   int32 // in Places, -1 of the outermost
	Function int32
	Offset   uint64
	Line     int32
	// Broken says that there was a caller, which nobody knows.
	Broken bool
}

// Thread is whose stacks they are.
type Thread struct {
	PID     int
	Process string // the key of the process's instance
	Command string
	TID     string
	Name    string
	Queue   string
}

// Title is what the thread's process is called.
func (t *Thread) Title() string { return fmt.Sprintf("%s (%d)", t.Command, t.PID) }

// Key is what an argument may call the thread's process, and means no other. On macOS
// there is none: keys of processes there are numbers, which are others' pids.
func (t *Thread) Key() string {
	if strings.Contains(t.Process, "/") {
		return t.Process
	}
	return ""
}

// Label is what the thread is called within its process.
func (t *Thread) Label() string {
	s := "thread"
	if t.Name != "" {
		s = t.Name
	}
	s += " (" + t.TID + ")"
	if t.Queue != "" {
		s += ", queue " + t.Queue
	}
	return s
}

// Stack is a thread with a stack that it was seen with.
type Stack struct {
	Thread int32
	Place  int32 // the innermost
	Wait   string
	End    string
	// Samples is how often it was seen with it, Running in how many of these it had a
	// processor or wanted one.
	Samples, Running uint64
}

// State is which samples are asked for.
type State uint8

const (
	Any State = iota
	Running
	Waiting
)

func (s State) String() string {
	return [...]string{"samples", "running", "waiting"}[s]
}

// Of is how many samples of a stack are of that state.
func (s State) Of(k *Stack) uint64 {
	switch s {
	case Running:
		return k.Running
	case Waiting:
		return k.Samples - k.Running
	}
	return k.Samples
}

// most is the largest count: what is larger is not told exactly by all formats, and
// no recorder's.
const most = 1<<53 - 1

// plus adds two counts that are not above most.
func plus(a, b uint64) uint64 { return min(a+b, most) }

// Sum counts the samples of a state.
func (p *Profile) Sum(s State) (n uint64) {
	for i := range p.Stacks {
		n = plus(n, s.Of(&p.Stacks[i]))
	}
	return n
}

// LostText says what is left out; "" where nothing is.
func (p *Profile) LostText() string {
	if p.Lost == 0 {
		return ""
	}
	return fmt.Sprintf("%d samples are left out: there are more different stacks, or more functions in them, than are kept in memory; ask for a shorter window", p.Lost)
}

// Chain appends to buf the places of a stack, the outermost first.
func (p *Profile) Chain(buf []int32, k *Stack) []int32 {
	at := len(buf)
	for i := k.Place; i >= 0; i = p.Places[i].Caller {
		buf = append(buf, i)
	}
	for i, j := at, len(buf)-1; i < j; i, j = i+1, j-1 {
		buf[i], buf[j] = buf[j], buf[i]
	}
	return buf
}
