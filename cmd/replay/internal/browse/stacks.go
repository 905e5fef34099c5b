package browse

import (
	"context"
	"fmt"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/stacks"
)

// leastShare is the smallest share of all samples of a call that is shown.
const leastShare = 0.01

// showStacks reads the stacks that were sampled near the shown moment, and shows them in a
// window.
func (a *app) showStacks() {
	if a.engine == nil {
		return
	}
	e, at := a.engine, a.at
	a.long(askStacks, "reading stacks", func(context.Context) func() {
		p, err := e.Stacks(at)
		return func() {
			switch {
			case err != nil:
				a.tell(err.Error(), true)
			case p == nil || len(p.Stacks) == 0:
				a.tell("no stacks were sampled within ten minutes", false)
			default:
				a.put(a.stackWindow(p, at))
			}
		}
	})
}

// stackWindow shows a profile as a tree of calls.
func (a *app) stackWindow(p *stacks.Profile, at int64) *text {
	title := "stacks, sampled at " + a.clockBeside(p.From)
	if p.To != p.From {
		title = "stacks, sampled from " + a.clockBeside(p.From) + " to " + a.clockBeside(p.To)
	}
	t := &text{title: title, keys: "r running, w waiting, a all; t by thread", command: []string{"stacks", "--at", stamp(at, a.Zone)}}
	state, by := stacks.Any, stacks.ByProcess
	root := p.Tree(by, state)
	t.keyed = func(a *app, name string) bool {
		was, had := state, by
		switch name {
		case "r":
			state = stacks.Running
		case "w":
			state = p.Waits()
		case "a":
			state = stacks.Any
		case "t":
			if by == stacks.ByThread {
				by = stacks.ByProcess
			} else {
				by = stacks.ByThread
			}
		default:
			return false
		}
		if state != was || by != had {
			root, t.top = p.Tree(by, state), 0
		}
		return true
	}
	t.lines = func(a *app, width int) []line { return a.stackLines(p, root, state, width) }
	return t
}

// stackLines returns a tree as lines of a width.
func (a *app) stackLines(p *stacks.Profile, root *stacks.Node, state stacks.State, width int) []line {
	th := a.c.theme
	words := cli.Count(int(root.Count), "sample")
	switch state {
	case stacks.Any:
	case stacks.Waited:
		words = state.Amount(root.Count) + " waited"
	default:
		words += ", those that were " + state.String() + " only"
	}
	out := []line{said(words, th.faint)}
	if lost := p.LostText(); lost != "" {
		for _, text := range human.Wrap(lost, max(width, 1)) {
			out = append(out, said(text, th.faint))
		}
	}
	if root.Count == 0 {
		return out
	}
	head := "  SHARE    SELF  RUNNING  "
	if width < 60 {
		head = "  SHARE  "
	}
	out = append(out, said(head+"CALLS", th.head))
	part := func(n, all uint64) string { return human.Percent(float64(n) / float64(max(all, 1))) }
	for _, l := range root.Outline(leastShare) {
		self, running, name, st := "-", "-", fmt.Sprintf("… %d more below %s each", l.Others, human.Percent(leastShare)), th.faint
		if l.Others == 0 {
			if l.Self > 0 {
				self = part(l.Self, root.Count)
			}
			if state == stacks.Any {
				running = part(l.Running, l.Count)
			}
			name, st = p.Text(l.Node), th.plain
			switch {
			case l.Function == stacks.OfWait:
				st = th.faint
			case l.Function < 0:
				st = th.bold
			}
		}
		before := human.Pad(part(l.Count, root.Count), 7, true) + "  "
		if width >= 60 {
			before += human.Pad(self, 6, true) + "  " + human.Pad(running, 7, true) + "  "
		}
		lead := l.CutLead(width / 3)
		room := max(width-human.Width(before)-human.Width(lead), 1)
		out = append(out, line{spans: []span{{before, th.plain}, {lead, th.faint}, {human.Cut(name, room), st}}})
	}
	return out
}
