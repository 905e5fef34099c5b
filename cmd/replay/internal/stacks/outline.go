package stacks

import (
	"fmt"
	"slices"
)

// Line is a line of an outline: a node, or several that are too small for a line of their own.
type Line struct {
	*Node
	// Lead is the text in front of it, with the lines of the tree.
	Lead string
	// Depth is how many nodes it is below one of the first branches.
	Depth int
	// Others is how many nodes the line represents; 0 for one.
	Others int
	Count  uint64
}

// Outline returns the lines of a tree, without nodes whose share of all samples is smaller than
// least. Only branches are drawn as such: a single callee goes straight below its caller.
func (n *Node) Outline(least float64) []Line {
	o := outline{all: float64(max(n.Count, 1)), least: least}
	o.below(n, "", 0)
	return o.lines
}

// leaves returns the children of a node and, as if it had called them, its waits.
func (n *Node) leaves() []*Node {
	if len(n.Waits) == 0 {
		return n.Children
	}
	all := slices.Clone(n.Children)
	for _, w := range n.Waits {
		all = append(all, &Node{Function: OfWait, Title: w.Text, Count: w.Count, Self: w.Count})
	}
	return all
}

type outline struct {
	all, least float64
	lines      []Line
}

func (o *outline) below(n *Node, before string, depth int) {
	var shown []*Node
	rest, others := uint64(0), 0
	for _, c := range n.leaves() {
		if float64(c.Count)/o.all >= o.least {
			shown = append(shown, c)
			continue
		}
		rest = plus(rest, c.Count)
		others++
	}
	told := others > 0 && float64(rest)/o.all >= o.least
	branches := len(shown)
	if told {
		branches++
	}
	lead := func(i int) (here, further string) {
		switch {
		case n.Function < 0 && n.Title == "":
			return "", "" // The root is not shown.
		case branches < 2 && (n.Function < 0 || n.Callers):
			return before + "  ", before + "  "
		case branches < 2:
			return before, before
		case i == branches-1:
			return before + "└ ", before + "  "
		}
		return before + "├ ", before + "│ "
	}
	for i, c := range shown {
		here, further := lead(i)
		o.lines = append(o.lines, Line{Node: c, Lead: here, Depth: depth, Count: c.Count})
		o.below(c, further, depth+1)
	}
	if told {
		here, _ := lead(branches - 1)
		o.lines = append(o.lines, Line{Lead: here, Depth: depth, Others: others, Count: rest})
	}
}

// CutLead returns the lead of a line in at most that many columns. It keeps the end, which
// distinguishes a function from its neighbours.
func (l *Line) CutLead(columns int) string {
	letters := []rune(l.Lead) // each of them is one column
	if len(letters) <= columns || columns < 1 {
		return l.Lead
	}
	return "…" + string(letters[len(letters)-columns+1:])
}

// Text returns the title of a node; for a function, its name with the file that it is from.
func (p *Profile) Text(n *Node) string {
	if n.Function < 0 {
		return n.Title
	}
	return p.FunctionText(n.Function)
}

// FunctionText returns a function's name with the file that it is from: that of its code, or that
// of its source, with the line that it begins at, if only an interpreter knows it.
func (p *Profile) FunctionText(function int32) string {
	f := &p.Functions[function]
	if f.Line > 0 {
		return fmt.Sprintf("%s (%s:%d)", f.Name, p.Library(function), f.Line)
	}
	if library := p.Library(function); library != "" && f.Symbol != "" {
		return f.Name + " [" + library + "]"
	}
	return f.Name
}
