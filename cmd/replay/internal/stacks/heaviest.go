package stacks

import (
	"fmt"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
)

// Heaviest is the stack of a process that has the most samples.
type Heaviest struct {
	Thread  *Thread // a thread of the process
	State   State
	Samples uint64
	Of      uint64 // all samples of that state
	// Chain holds the stack's functions, the outermost first.
	Chain []int32
	p     *Profile
}

// Heaviest returns the stack with the most samples of running threads, or, if no thread
// ran, of waiting ones. ok reports whether there is one.
func (p *Profile) Heaviest() (h Heaviest, ok bool) {
	state := Running
	if p.Sum(Running) == 0 {
		state = Waiting
	}
	root := p.Tree(ByProcess, state)
	h = Heaviest{State: state, Of: root.Count, p: p}
	title := ""
	var path []int32
	var walk func(n *Node, process string)
	walk = func(n *Node, process string) {
		if n.Function >= 0 {
			path = append(path, n.Function)
			defer func() { path = path[:len(path)-1] }()
		} else {
			process = n.Title
		}
		if n.Self > h.Samples {
			h.Samples, h.Chain, title = n.Self, append(h.Chain[:0], path...), process
		}
		for _, c := range n.Children {
			walk(c, process)
		}
	}
	walk(root, "")
	for i := range p.Stacks {
		if t := &p.Threads[p.Stacks[i].Thread]; t.Title() == title {
			h.Thread = t
			break
		}
	}
	return h, h.Thread != nil
}

// Share returns the stack's share of all samples of its state.
func (h *Heaviest) Share() float64 { return float64(h.Samples) / float64(max(h.Of, 1)) }

// Name returns the argument of replay stacks that selects the stack's process.
func (h *Heaviest) Name() string {
	if key := h.Thread.Key(); key != "" {
		return key
	}
	return fmt.Sprint(h.Thread.PID)
}

// Folded returns the stack in the form of a line of folded stacks.
func (h *Heaviest) Folded() string {
	var names []string
	for _, n := range h.Chain {
		names = append(names, unfolding.Replace(h.p.Functions[n].Name))
	}
	return strings.Join(names, ";")
}

// Sentence describes the stack by its innermost functions.
func (h *Heaviest) Sentence() string {
	const callers, long = 3, 60
	verb := "ran"
	if h.State == Waiting {
		verb = "waited"
	}
	called := func(i int) string { return human.CutAt(h.p.Functions[h.Chain[i]].Name, long, human.InMiddle) }
	s := fmt.Sprintf("%s %s in %s", h.Thread.Title(), verb, called(len(h.Chain)-1))
	for i := len(h.Chain) - 2; i >= max(len(h.Chain)-1-callers, 0); i-- {
		if i == len(h.Chain)-2 {
			s += ", called by "
		} else {
			s += " < "
		}
		s += called(i)
	}
	s += fmt.Sprintf(": %s of %s of threads that %s", human.Percent(h.Share()), cli.Count(int(h.Of), "sample"), verb)
	if lost := h.p.LostText(); lost != "" {
		s += "; " + lost
	}
	return s
}
