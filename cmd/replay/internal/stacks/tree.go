package stacks

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

// By says what the first branches of a tree are.
type By string

const (
	ByProcess By = "process"
	ByThread  By = "thread"
	ByNothing By = "none"
	// ByCallers turns the tree round: the first branches are the functions in which samples were, and
	// below each function are those that called it.
	ByCallers By = "callers"
)

// Bys are all values of By.
var Bys = []By{ByProcess, ByThread, ByNothing, ByCallers}

// maxNodes bounds a tree. Once it is full, samples of further callees count for the functions
// that called them.
const maxNodes = 1 << 20

// Node is a function as the one above it called it, or a process or thread.
type Node struct {
	// Function is its number; -1 for the root, a process or a thread, which have a Title; OfWait
	// for a wait.
	Function int32
	Title    string
	// Count is the number of samples in it and in what it called, Self of those in it alone,
	// Running of those of Count in which the thread had a processor or was waiting for one.
	Count, Self, Running uint64
	// Waited is for how many nanoseconds the threads of Count waited, where that was measured.
	Waited   uint64
	Children []*Node
	// Callers says that the children called it.
	Callers bool
	// Waits say what the samples of Self were waiting for, where the function's name does not,
	// and who ended the waits, if it is time that is counted.
	Waits []Wait
}

// OfWait takes the place of a function's number, in outlines only.
const OfWait = -2

// Wait is what samples were waiting for.
type Wait struct {
	Text  string // "waits: mach port 0x1203", "woken by worker (612)"
	Count uint64
}

// Tree returns the tree of calls of the samples in a state.
func (p *Profile) Tree(by By, state State) *Node {
	root := &Node{Function: -1}
	type edge struct {
		from     *Node
		function int32
		title    string
	}
	type waited struct {
		at *Node
		on string
	}
	nodes, waits := make(map[edge]*Node), make(map[waited]int)
	count := func(n *Node, k *Stack) {
		n.Count = plus(n.Count, state.Of(k))
		if state < Waiting {
			n.Running = plus(n.Running, k.Running)
		}
		n.Waited = plus(n.Waited, k.Waited)
	}
	step := func(from *Node, function int32, title string, k *Stack) *Node {
		e := edge{from, function, title}
		n := nodes[e]
		if n == nil {
			if state.Of(k) == 0 || len(nodes) == maxNodes {
				return from
			}
			n = &Node{Function: function, Title: title}
			nodes[e] = n
			from.Children = append(from.Children, n)
		}
		count(n, k)
		return n
	}
	var chain []int32
	for _, k := range p.counted(state) {
		if by == ByCallers && state.Of(k) == 0 {
			break // The others were seen by no clock.
		}
		count(root, k)
		at, t := root, &p.Threads[k.Thread]
		chain = p.Chain(chain[:0], k)
		switch by {
		case ByCallers:
			slices.Reverse(chain)
			at = step(at, p.Places[chain[0]].Function, "", k)
			at.Self, at.Callers = plus(at.Self, state.Of(k)), true
			for _, place := range chain[1:] {
				at = step(at, p.Places[place].Function, "", k)
			}
			continue
		case ByProcess, ByThread:
			at = step(at, -1, t.Title(), k)
		}
		if by == ByThread {
			at = step(at, -1, t.Label(), k)
		}
		for _, place := range chain {
			at = step(at, p.Places[place].Function, "", k)
		}
		at.Self = plus(at.Self, state.Of(k))
		n := Waiting.Of(k)
		if state == Waited {
			n = k.Waited
		}
		if text := p.waitText(k, state); n > 0 && text != "" {
			i, known := waits[waited{at, text}]
			if !known {
				i = len(at.Waits)
				waits[waited{at, text}] = i
				at.Waits = append(at.Waits, Wait{Text: text})
			}
			at.Waits[i].Count = plus(at.Waits[i].Count, n)
		}
	}
	p.sort(root)
	return root
}

// counted returns the stacks that a tree has, and then those of which it has only the time waited,
// because the clock did not see them.
func (p *Profile) counted(state State) (list []*Stack) {
	for _, seen := range []bool{true, false} {
		for i := range p.Stacks {
			k := &p.Stacks[i]
			if n := state.Of(k); seen && n > 0 || !seen && n == 0 && state != Running && k.Waited > 0 {
				list = append(list, k)
			}
		}
	}
	return list
}

// waitText says what a stack's thread waited for, or who ended the wait; "" if the stack says all
// that is known.
func (p *Profile) waitText(k *Stack, state State) string {
	switch {
	case state == Running:
	case k.Waker != nil && k.Waker.Thread >= 0 && k.Waker.Place < 0:
		// A stackshot says who has what is waited for.
		return "waits: " + k.Wait + ": " + p.WakerText(k.Waker)
	case state == Waited && k.Waker != nil:
		return "woken by " + p.WakerText(k.Waker)
	case k.Wait != "" && !p.says(k.Place, k.Wait):
		return "waits: " + k.Wait
	}
	return ""
}

// WakerText names a waker, with the functions by which it woke the other.
func (p *Profile) WakerText(w *Waker) string {
	const most = 3
	text, kernel := "an interrupt", true
	if w.Thread >= 0 {
		t := &p.Threads[w.Thread]
		text, kernel = t.Title(), false
		if t.Name != "" || t.TID != strconv.Itoa(t.PID) {
			text = t.Label() + " of " + text
		}
	}
	shown := 0
	for at := w.Place; at >= 0 && shown < most; at = p.Places[at].Caller {
		f := &p.Functions[p.Places[at].Function]
		if f.Kernel != kernel {
			continue // A thread's own functions say why it woke another; the kernel's are always the same.
		}
		text += [...]string{": ", " < ", " < "}[shown] + f.Name
		shown++
	}
	return text
}

// says reports whether the name of the function at a place already says what a thread waits for.
// On Linux the wait is that name.
func (p *Profile) says(place int32, wait string) bool {
	f := &p.Functions[p.Places[place].Function]
	return f.Name == wait || f.Symbol == wait
}

// sort sorts a tree, the largest nodes first.
func (p *Profile) sort(n *Node) {
	slices.SortFunc(n.Children, func(x, y *Node) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(p.Name(x), p.Name(y)), cmp.Compare(x.Function, y.Function))
	})
	slices.SortFunc(n.Waits, func(x, y Wait) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.Text, y.Text))
	})
	for _, c := range n.Children {
		p.sort(c)
	}
}

// Name returns the name of a node.
func (p *Profile) Name(n *Node) string {
	if n.Function < 0 {
		return n.Title
	}
	return p.Functions[n.Function].Name
}

// Library returns the file name of the image that a function is from, or of its source if only an
// interpreter knows it; "" if it is unknown.
func (p *Profile) Library(function int32) string {
	f := &p.Functions[function]
	switch {
	case f.Line > 0:
		return path.Base(f.File)
	case f.Image >= 0 && p.Images[f.Image].Path != "":
		return p.Images[f.Image].Name()
	case f.Kernel:
		return "kernel"
	}
	return ""
}
