package stacks

import "slices"

// Line is a line of an outline: a node, or several that are too small for one each.
type Line struct {
	*Node
	// Lead are the lines that lead to it.
	Lead string
	// Others is how many nodes it stands for; 0 for one.
	Others int
	Count  uint64
}

// Outline are a tree's lines, without what has a smaller share of all than least. Only where
// it branches lines show that; what is called by one function alone stands straight below it.
func (n *Node) Outline(least float64) []Line {
	o := outline{all: float64(max(n.Count, 1)), least: least}
	o.below(n, "")
	return o.lines
}

// leaves are the children of a node, and what was waited for in it as if that were called.
func (n *Node) leaves() []*Node {
	if len(n.Waits) == 0 {
		return n.Children
	}
	all := slices.Clone(n.Children)
	for _, w := range n.Waits {
		all = append(all, &Node{Function: OfWait, Title: "waits: " + w.For, Count: w.Count, Self: w.Count})
	}
	return all
}

type outline struct {
	all, least float64
	lines      []Line
}

func (o *outline) below(n *Node, before string) {
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
		case branches < 2 && n.Function < 0:
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
		o.lines = append(o.lines, Line{Node: c, Lead: here, Count: c.Count})
		o.below(c, further)
	}
	if told {
		here, _ := lead(branches - 1)
		o.lines = append(o.lines, Line{Lead: here, Others: others, Count: rest})
	}
}

// CutLead is the lead of a line in at most so many columns: its end tells a function from its
// neighbours.
func (l *Line) CutLead(columns int) string {
	letters := []rune(l.Lead) // each of them is one column
	if len(letters) <= columns || columns < 1 {
		return l.Lead
	}
	return "…" + string(letters[len(letters)-columns+1:])
}

// Text is what a node is called, a function with the file that it is from.
func (p *Profile) Text(n *Node) string {
	if n.Function < 0 {
		return n.Title
	}
	return p.FunctionText(n.Function)
}

// FunctionText is a function with the file that it is from.
func (p *Profile) FunctionText(function int32) string {
	f := &p.Functions[function]
	if library := p.Library(function); library != "" && f.Symbol != "" {
		return f.Name + " [" + library + "]"
	}
	return f.Name
}
