package stacks

import (
	"cmp"
	"path"
	"slices"
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
	Children             []*Node
	// Callers says that the children called it.
	Callers bool
	// Waits say what the samples of Self were waiting for, where the function's name does not.
	Waits []Wait
}

// OfWait takes the place of a function's number, in outlines only.
const OfWait = -2

// Wait is what samples were waiting for, in the kernel's words.
type Wait struct {
	For   string
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
		if state != Waiting {
			n.Running = plus(n.Running, k.Running)
		}
	}
	step := func(from *Node, function int32, title string, k *Stack) *Node {
		e := edge{from, function, title}
		n := nodes[e]
		if n == nil {
			if len(nodes) == maxNodes {
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
	for i := range p.Stacks {
		k := &p.Stacks[i]
		if state.Of(k) == 0 {
			continue
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
		if n := k.Samples - k.Running; n > 0 && state != Running && k.Wait != "" && !p.says(k.Place, k.Wait) {
			i, known := waits[waited{at, k.Wait}]
			if !known {
				i = len(at.Waits)
				waits[waited{at, k.Wait}] = i
				at.Waits = append(at.Waits, Wait{For: k.Wait})
			}
			at.Waits[i].Count = plus(at.Waits[i].Count, n)
		}
	}
	p.sort(root)
	return root
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
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.For, y.For))
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
