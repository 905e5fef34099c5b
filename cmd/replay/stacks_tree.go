package main

import (
	"fmt"
	"strings"

	"tachograph/cmd/internal/plural"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
)

// stackTrees prints trees of calls, one for each host.
func (a *app) stackTrees(f *stackFlags, list []*stacks.Profile) error {
	for i, p := range list {
		if i > 0 {
			a.stdout.Println()
		}
		a.stackHead(p, f.state())
		a.stdout.Println()
		rows, err := a.rowsOf(mattering("stacks", out.Column{Name: "samples", Right: true}, out.Column{Name: "share", Right: true},
			out.Column{Name: "self", Right: true}, out.Column{Name: "running", Right: true}, out.Column{Name: "calls", Flex: true})...)
		if err != nil {
			return err
		}
		root := p.Tree(stacks.By(f.by), f.state())
		t := treePage{p: p, rows: rows, all: root.Count, least: f.share, state: f.state()}
		if a.width > 0 {
			t.indent = a.width / 3
		}
		if err := t.below(root, ""); err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

// stackHead says what a profile is of.
func (a *app) stackHead(p *stacks.Profile, state stacks.State) {
	processes := make(map[string]bool)
	threads := make(map[int32]bool)
	cut := uint64(0)
	for i := range p.Stacks {
		if k := &p.Stacks[i]; state.Of(k) > 0 {
			if threads[k.Thread] = true; k.End != "" {
				cut += state.Of(k)
			}
			t := &p.Threads[k.Thread]
			processes[t.Title()+t.Process] = true
		}
	}
	when := a.show(p.From)
	if p.To != p.From {
		when += " to " + a.show(p.To)
	}
	text := fmt.Sprintf("%s, %s of %s and %s", when, plural.Of(int(p.Sum(state)), "sample"), plural.Of(len(processes), "process"), plural.Of(len(threads), "thread"))
	switch state {
	case stacks.Any:
		running := p.Sum(stacks.Running)
		text += fmt.Sprintf(", %s of them running", human.Percent(float64(running)/float64(max(p.Sum(state), 1))))
	default:
		text += ", those that were " + state.String() + " only"
	}
	a.headed(p.Host.Name, text, 0)
	var lacks []string
	if p.Unnamed > 0 {
		lacks = append(lacks, fmt.Sprintf("%d of %s without a name", p.Unnamed, plural.Of(len(p.Functions), "function")))
	}
	if cut > 0 {
		lacks = append(lacks, plural.Of(int(cut), "sample")+" not walked to the outermost function")
	}
	if len(lacks) > 0 {
		a.prose(strings.Join(lacks, "; "))
	}
}

// treePage prints a tree.
type treePage struct {
	p      *stacks.Profile
	rows   out.Writer
	all    uint64
	least  float64
	state  stacks.State
	indent int // columns that lines may take; 0 for any number
}

// below prints what a node calls. Only where it branches lines show that; what is called
// by one function alone stands straight below it.
func (t *treePage) below(n *stacks.Node, before string) error {
	var shown []*stacks.Node
	rest, others := uint64(0), 0
	for _, c := range n.Children {
		if t.share(c.Count) >= t.least {
			shown = append(shown, c)
			continue
		}
		rest += c.Count
		others++
	}
	told := others > 0 && t.share(rest) >= t.least
	lines := len(shown)
	if told {
		lines++
	}
	lead := func(i int) (here, further string) {
		switch {
		case n.Function < 0 && n.Title == "":
			return "", "" // The root is not shown.
		case lines < 2 && n.Function < 0:
			return before + "  ", before + "  "
		case lines < 2:
			return before, before
		case i == lines-1:
			return before + "└ ", before + "  "
		}
		return before + "├ ", before + "│ "
	}
	for i, c := range shown {
		here, further := lead(i)
		running := "-"
		if t.state == stacks.Any {
			running = human.Percent(float64(c.Running) / float64(max(c.Count, 1)))
		}
		text := c.Title
		if c.Function >= 0 {
			text = frameText(t.p, c.Function)
		}
		if err := t.row(c.Count, t.of(c.Self), running, here, text); err != nil {
			return err
		}
		if err := t.below(c, further); err != nil {
			return err
		}
	}
	if told {
		here, _ := lead(lines - 1)
		return t.row(rest, "-", "-", here, fmt.Sprintf("… %d more below %s each", others, human.Percent(t.least)))
	}
	return nil
}

func (t *treePage) share(n uint64) float64 { return float64(n) / float64(max(t.all, 1)) }

// of is a share in words; nothing where there is none.
func (t *treePage) of(n uint64) string {
	if n == 0 {
		return "-"
	}
	return human.Percent(t.share(n))
}

func (t *treePage) row(n uint64, self, running, lead, text string) error {
	if wide := human.Width(lead); t.indent > 0 && wide > t.indent {
		// The end of the lines tells a function from its neighbours.
		lead = "…" + string([]rune(lead)[wide-t.indent+1:])
	}
	return t.rows.Row([]out.Cell{{}, out.None(fmt.Sprint(n)), out.None(human.Percent(t.share(n))), out.None(self), out.None(running), out.None(lead + text)})
}
