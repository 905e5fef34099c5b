package main

import (
	"fmt"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
)

// trees prints trees of calls, one for each host.
func (s *stacksAnswer) trees() error {
	for i, p := range s.list {
		if i > 0 {
			s.a.stdout.Println()
		}
		s.head(p)
		s.a.stdout.Println()
		state := s.state(p)
		rows, err := s.a.rowsOf(out.Column{Name: state.Unit(), Right: true, Keep: out.Always}, out.Column{Name: "share", Right: true, Keep: 9},
			out.Column{Name: "self", Right: true, Keep: 8}, out.Column{Name: "running", Right: true, Keep: 7}, out.Column{Name: "calls", Flex: true, Keep: out.Always})
		if err != nil {
			return err
		}
		root := p.Tree(stacks.By(s.f.by), state)
		for _, l := range root.Outline(s.f.share) {
			if err := s.treeLine(rows, p, &l, root.Count); err != nil {
				return err
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

// head prints what a profile covers.
func (s *stacksAnswer) head(p *stacks.Profile) {
	state := s.state(p)
	processes := make(map[string]bool)
	threads := make(map[int32]bool)
	cut := uint64(0)
	for i := range p.Stacks {
		if k := &p.Stacks[i]; state.Of(k) > 0 {
			if threads[k.Thread] = true; k.End != "" {
				cut += s.f.state().Of(k)
			}
			t := &p.Threads[k.Thread]
			processes[t.Title()+t.Process] = true
		}
	}
	when := s.a.Show(p.From)
	if p.To != p.From {
		when += " to " + s.a.Show(p.To)
	}
	amount := state.Amount(p.Sum(state)) + " waited"
	if state != stacks.Waited {
		amount = cli.Count(int(p.Sum(state)), "sample")
	}
	text := fmt.Sprintf("%s, %s of %s and %s", when, amount, cli.Count(len(processes), "process"), cli.Count(len(threads), "thread"))
	switch state {
	case stacks.Waited:
	case stacks.Any:
		running := p.Sum(stacks.Running)
		text += fmt.Sprintf(", %s of them running", human.Percent(float64(running)/float64(max(p.Sum(state), 1))))
	default:
		text += ", those that were " + state.String() + " only"
	}
	s.a.headed(p.Host.Name, text, 0)
	var lacks []string
	if p.Unnamed > 0 {
		lacks = append(lacks, fmt.Sprintf("%d of %s without a name", p.Unnamed, cli.Count(len(p.Functions), "function")))
	}
	if n := madeAtRunTime(p); n > 0 {
		lacks = append(lacks, fmt.Sprintf("%d of these in code that a program made while it ran (docs/ASK.md says how Node, Java and others name it)", n))
	}
	if cut > 0 {
		lacks = append(lacks, cli.Count(int(cut), "sample")+" not walked to the outermost function")
	}
	if len(lacks) > 0 {
		s.a.prose(strings.Join(lacks, "; "))
	}
	s.samplings(p)
}

// madeAtRunTime counts functions without a name that are in no file. Only on Linux do programs write
// down what they are called.
func madeAtRunTime(p *stacks.Profile) (n int) {
	for i := range p.Functions {
		if f := &p.Functions[i]; p.Host.OS == "Linux" && f.Symbol == "" && f.Image < 0 && !f.Kernel {
			n++
		}
	}
	return n
}

// shareOf is a part of a whole in words; "-" for no part.
func shareOf(n, all uint64) string {
	if n == 0 {
		return "-"
	}
	return human.Percent(float64(n) / float64(max(all, 1)))
}

// treeLine prints a line of a tree.
func (s *stacksAnswer) treeLine(rows out.Writer, p *stacks.Profile, l *stacks.Line, all uint64) error {
	self, running, text := "-", "-", fmt.Sprintf("… %d more below %s each", l.Others, human.Percent(s.f.share))
	if l.Others == 0 {
		self, text = shareOf(l.Self, all), p.Text(l.Node)
		if s.f.state() == stacks.Any {
			running = human.Percent(float64(l.Running) / float64(max(l.Count, 1)))
		}
	}
	return rows.Row([]out.Cell{{}, out.None(s.state(p).Amount(l.Count)), out.None(shareOf(l.Count, all)), out.None(self), out.None(running),
		out.None(l.CutLead(s.a.width/3) + text)})
}
