package report

import (
	"fmt"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/stacks"
)

// Flame is the tree of calls of the window's stacks, listed depth first: after each node come
// the nodes that it calls. Depth says how they are connected.
type Flame struct {
	About string `json:"about"`
	// Command shows the same in a terminal.
	Command string `json:"command,omitempty"`
	// Names are names of functions, with the file that they are from, and of processes.
	Names   []string `json:"names"`
	Depth   []int    `json:"depth"`
	Name    []int    `json:"name"`
	Count   []uint64 `json:"count"`
	Running []uint64 `json:"running"`
	// Waited is for how many seconds threads waited in each node, if that was measured.
	Waited []float64 `json:"waited,omitempty"`
	// Hidden says how small the nodes are that are left out.
	Hidden string `json:"hidden,omitempty"`
}

// Bounds of what a page draws: the number of nodes, and their smallest share of all samples.
const (
	mostNodes = 4000
	leastNode = 0.0005
)

// flames draws the stacks of the window, if any were sampled.
func (c *collector) flames() error {
	p := stacks.Read(c.a, stacks.Request{Window: c.w})
	if len(p.Stacks) == 0 {
		return nil
	}
	root := p.Tree(stacks.ByProcess, stacks.Any)
	least := uint64(leastNode * float64(root.Count))
	for many(root, least, mostNodes+1) > mostNodes {
		least = least*2 + 1
	}
	short := c.short()
	f := &Flame{About: fmt.Sprintf("%s of %s, of %s to %s; %s of them of threads that had a processor or wanted one.",
		cli.Count(int(root.Count), "sample"), cli.Count(len(root.Children), "process"), short(p.From), short(p.To), human.Percent(float64(root.Running)/float64(max(root.Count, 1))))}
	if lost := p.LostText(); lost != "" {
		f.About += " " + lost + "."
	}
	if c.r.Shell != nil {
		at := func(wall int64) string { return time.Unix(0, wall).UTC().Format(time.RFC3339Nano) }
		f.Command = cutLong(c.r.Shell([]string{"stacks", "--from", at(p.From), "--to", at(p.To)}))
	}
	numbers := make(map[string]int)
	name := func(n *stacks.Node) int {
		text := cut(p.Text(n))
		k, known := numbers[text]
		if !known {
			k = len(f.Names)
			numbers[text] = k
			f.Names = append(f.Names, text)
		}
		return k
	}
	hidden := false
	var add func(n *stacks.Node, depth int)
	add = func(n *stacks.Node, depth int) {
		for _, child := range n.Children {
			if child.Count < least {
				hidden = true
				continue
			}
			f.Depth, f.Name = append(f.Depth, depth), append(f.Name, name(child))
			f.Count, f.Running = append(f.Count, child.Count), append(f.Running, child.Running)
			if root.Waited > 0 {
				f.Waited = append(f.Waited, float64(child.Waited)/1e9)
			}
			add(child, depth+1)
		}
	}
	add(root, 0)
	if hidden {
		f.Hidden = "Calls with fewer than " + cli.Count(int(least), "sample") + " are not drawn."
	}
	c.page.doc.Flame = f
	return nil
}

// many counts the nodes below n that have at least that many samples, up to a limit.
func many(n *stacks.Node, least uint64, limit int) int {
	sum := 0
	for _, child := range n.Children {
		if child.Count >= least && sum < limit {
			sum += 1 + many(child, least, limit-sum)
		}
	}
	return sum
}
