package why

import (
	"fmt"
	"slices"
	"strings"
)

// trafficLeast is how many bytes a second are worth a line, trafficSevere is very much, and
// trafficWeight what that weighs.
const trafficLeast, trafficSevere, trafficWeight = 6 << 20, 500 << 20, 0.5

// flows are the signals that interfaces are judged by: least is the amount from which on they are
// worth a line, severe is a large amount.
var flows = []struct {
	signal        string
	least, severe float64
	weight        float64
	says          string
}{
	{"net.in", 2500, 150000, 0.62, "%s packets a second came in"},
	{"net.out", 2500, 150000, 0.62, "%s packets a second went out"},
	{"net.in.bytes", trafficLeast, trafficSevere, trafficWeight, "%s came in"},
	{"net.out.bytes", trafficLeast, trafficSevere, trafficWeight, "%s went out"},
	{"net.drops", 5, 2000, 0.65, "%s a second were dropped"},
	{"net.errors", 1, 500, 0.65, "%s a second were faulty"},
}

// networks finds interfaces that carried far more than in the calm stretch, or that lost packets.
func (q *question) networks() ([]*finding, error) {
	by := make(map[string]*finding)
	var list []*finding
	carried := make(map[*finding]string) // keys of the interfaces that carried far more; others only lost something
	f := q.field
	for _, flow := range flows {
		for _, c := range f.of[flow.signal] {
			if strings.HasSuffix(flow.signal, ".bytes") && loopback(c.name) && q.trafficRecorded() {
				continue // Who talks to whom within the machine is known, and uses no network.
			}
			bad := func(x float64) float64 { return logShare(x, flow.least, flow.severe) }
			e := q.find(c, flow.least, bad)
			if e == nil || e.calm > e.level/3 {
				continue
			}
			since, until := f.times(e)
			weight := f.worth(e, flow.weight, bad(e.level)) * q.daily(c, since, until, e.level)
			clause := fmt.Sprintf(flow.says, c.signal.write(e.level)) + q.against(c.signal.write(orZero(e.calm)))
			g := by[c.key]
			if g == nil {
				// Traffic over the loopback interface always has its cause on this machine.
				g = &finding{kind: "network", who: c.name, topic: "network", cause: !loopback(c.name), since: since, until: until, explains: []string{"network", "tcp", "udp", "peer"},
					more: append([]string{"rates", "network.interface.in", "network.interface.out", "-i", c.name}, span(q.w.From, q.w.To)...)}
				by[c.key] = g
				list = append(list, g)
			}
			if flow.signal != "net.drops" && flow.signal != "net.errors" {
				carried[g] = c.key
			}
			g.sources = append(g.sources, q.sourcesOfSignal(c.signal, c.name, c.key)...)
			g.since, g.until = min(g.since, since), max(g.until, until)
			if len(g.also) < 3 {
				g.also = append(g.also, clause)
			}
			g.weight = max(g.weight, weight)
		}
	}
	for _, g := range list {
		g.text = "network " + g.who + q.when(g.since, g.until) + ": " + strings.Join(g.also, ", ")
		if !g.cause {
			g.brief = g.also[0] + " over " + g.who
		} else if key, ok := carried[g]; ok {
			q.borne(g, key)
		}
		g.also = nil
	}
	return mirrored(append(append(list, q.unshown(list)...), q.links()...)), nil
}

// loopback reports whether an interface is the one over which a machine talks to itself.
func loopback(name string) bool { return name == "lo" || name == "lo0" }

// links finds interfaces that lost their link, or got it.
func (q *question) links() []*finding {
	var out []*finding
	f := q.field
	lo, hi := f.slots(q.w)
	for _, c := range f.of["net.link"] {
		changes, first, latest := 0, 0, 0
		last := -1.0
		for k := max(lo-2*c.gap, 0); k < hi; k++ {
			x := c.x[k]
			if x != x {
				continue
			}
			if last >= 0 && x != last {
				if changes++; changes == 1 {
					first = k
				}
				latest = k
			}
			last = x
		}
		if changes == 0 {
			if down := q.without(c, lo, hi); down != nil {
				out = append(out, down)
			}
			continue
		}
		word := "got its link"
		if last < 0.5 {
			word, latest = "lost its link", hi
		}
		text := fmt.Sprintf("network %s %s at %s", c.name, word, q.show(f.begin(first)))
		if changes > 1 {
			text = fmt.Sprintf("network %s lost or got its link %d times from %s on", c.name, changes, q.show(f.begin(first)))
		}
		out = append(out, &finding{kind: "link", who: c.name + " link", topic: "link", cause: true, since: f.begin(first), until: f.begin(latest + 1), weight: grade(0.5, 0.2*min(float64(changes)/6, 1)),
			explains: []string{"network", "tcp", "udp", "peer"}, text: text,
			more: append(slices.Clone([]string{"values", "network.interface.running", "-i", c.name}), span(q.w.From, q.w.To)...)})
	}
	return out
}

// without finds an interface that had no link during the whole window, and had one before.
func (q *question) without(c *course, lo, hi int) *finding {
	f := q.field
	lost := -1
	for k := hi - 1; k >= 0; k-- {
		switch x := c.x[k]; {
		case x < 0.5:
			lost = k
		case x == x:
			if lost < 0 {
				return nil // It has one.
			}
			return &finding{kind: "link", who: c.name + " link", topic: "link", cause: true, since: f.begin(lost), until: f.begin(hi), weight: 0.5,
				explains: []string{"network", "tcp", "udp", "peer"}, text: fmt.Sprintf("network %s had no link, which it lost at %s", c.name, q.show(f.begin(lost))),
				sources: sourcesOf(c.name, c.key, "network.interface.running"),
				more:    append([]string{"values", "network.interface.running", "-i", c.name}, span(q.w.From, q.w.To)...)}
		}
	}
	return nil
}

// driven names, for traffic on the network, the process that began to work hard at the same time:
// most likely that process caused it. Both become one finding.
func driven(all []*finding, slack int64) []*finding {
	gone := make(map[*finding]bool)
	for _, n := range all {
		if n.kind != "network" {
			continue
		}
		var best *finding
		for _, p := range all {
			together := min(n.until, p.until) - max(n.since, p.since)
			if p.kind == "runaway" && !gone[p] && (n.culprit == "" || n.culprit == p.who) && p.since >= n.since-slack && p.since <= n.since+slack && 2*together > max(n.until-n.since, p.until-p.since) &&
				(best == nil || p.weight > best.weight) {
				best = p
			}
		}
		if best != nil {
			by := "; most likely " + best.title + ", which"
			if n.culprit != "" {
				by = "; it"
			}
			n.text += by + strings.TrimPrefix(best.text, best.title)
			n.weight = min(max(n.weight, best.weight)+0.02, 1)
			n.explains = append(n.explains, best.explains...)
			gone[best] = true
		}
	}
	return slices.DeleteFunc(all, func(f *finding) bool { return gone[f] })
}
