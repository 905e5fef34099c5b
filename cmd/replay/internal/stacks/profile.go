package stacks

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// Profile sums up the stacks of one host in a window.
type Profile struct {
	Host metric.Host
	// From and To are the wall clocks of the first and the last tick that had stacks.
	From, To int64
	Images   []Image
	// Functions are distinguished by name and image, those without a name by their offset in the
	// image.
	Functions []Function
	Places    []Place
	Threads   []Thread
	Stacks    []Stack
	// Ticks are the samples in the order of time, if the request asks for them.
	Ticks []Tick
	// Lost counts the samples that are missing from Stacks because there were too many different
	// stacks, or too much text in them. LostText says so in words.
	Lost uint64
	// Unnamed is how many functions have no name.
	Unnamed int
}

// Image is a file that code was mapped from.
type Image stack.Image

// Name returns the image's file name without its directories.
func (m *Image) Name() string { return path.Base(m.Path) }

// Function is a function, or a place whose function's name is unknown.
type Function struct {
	// Name is for people: the demangled name, or the image with the offset in it.
	Name string
	// Symbol is the name that the linker knows; "" if it is unknown.
	Symbol string
	Image  int32 // in Images, -1 if unknown
	File   string
	// Line is the line that it begins at, of functions that only an interpreter knows (Python); 0
	// of others.
	Line   int32
	Kernel bool
}

// Place is a place in a function, reached through certain callers: a node of the tree of calls.
type Place struct {
	Caller   int32 // in Places, -1 of the outermost
	Function int32
	Offset   uint64
	Line     int32
	// Broken says that there was a caller, but it is unknown.
	Broken bool
}

// Thread is the thread that stacks belong to.
type Thread struct {
	PID     int
	Process string // the key of the process's instance
	Command string
	TID     string
	Name    string
	Queue   string
}

// Title returns the name of the thread's process.
func (t *Thread) Title() string { return fmt.Sprintf("%s (%d)", t.Command, t.PID) }

// Key returns the argument that names the thread's process and no other. On macOS it is "": keys
// of processes are numbers there, which could be pids of other processes.
func (t *Thread) Key() string {
	if strings.Contains(t.Process, "/") {
		return t.Process
	}
	return ""
}

// Label returns the thread's name within its process.
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

// Stack is a thread together with a stack that it was sampled with.
type Stack struct {
	Thread int32
	Place  int32 // the innermost
	Wait   string
	End    string
	// Samples counts the samples with this stack, Running those in which the thread had a
	// processor or was waiting for one.
	Samples, Running uint64
	// Waited is for how many nanoseconds the thread waited with this stack, where that was
	// measured.
	Waited uint64
	// Waker is who ended these waits, or has what the thread waits for; nil if unknown.
	Waker *Waker
}

// Waker is the thread that another waited for.
type Waker struct {
	Thread int32 // in Threads; -1 if it was an interrupt
	Place  int32 // the innermost, -1 if its stack is unknown
}

// State selects samples, or what is counted in their place.
type State uint8

const (
	Any State = iota
	Running
	Waiting
	// Waited counts not samples but the nanoseconds of the waits that were measured.
	Waited
)

func (s State) String() string {
	return [...]string{"samples", "running", "waiting", "waited"}[s]
}

// Unit is the heading of amounts of a state.
func (s State) Unit() string {
	if s == Waited {
		return "waited"
	}
	return "samples"
}

// Amount writes how much of a state there is, for people.
func (s State) Amount(n uint64) string {
	if s == Waited {
		return human.Seconds(float64(n) / 1e9)
	}
	return strconv.FormatUint(n, 10)
}

// Of returns how many samples of a stack are in that state.
func (s State) Of(k *Stack) uint64 {
	switch s {
	case Running:
		return k.Running
	case Waiting:
		return k.Samples - k.Running
	case Waited:
		return k.Waited
	}
	return k.Samples
}

// most is the largest count. Not all formats represent larger counts exactly, and no recorder
// counts that far.
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

// Waits returns what tells best how long threads waited: the time, or the samples if the waits of
// some process, of which there are samples, were not measured.
func (p *Profile) Waits() State {
	measured, sampled := make(map[string]bool), make(map[string]bool)
	for i := range p.Stacks {
		k := &p.Stacks[i]
		title := p.Threads[k.Thread].Title()
		if k.Waited > 0 {
			measured[title] = true
		}
		if Waiting.Of(k) > 0 {
			sampled[title] = true
		}
	}
	for title := range sampled {
		if !measured[title] {
			return Waiting
		}
	}
	if len(measured) == 0 {
		return Waiting
	}
	return Waited
}

// LostText says in words what is left out; "" if nothing is.
func (p *Profile) LostText() string {
	if p.Lost == 0 {
		return ""
	}
	return fmt.Sprintf("%d samples are left out: there are more different stacks, or more functions in them, than are kept in memory; ask for a shorter window", p.Lost)
}

// Chain appends the places of a stack to buf, the outermost first.
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
