package query

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// merged joins changes that say the same thing into one line. The list is sorted, before and
// after.
func merged(d *differ, s *systemPair, p *processPair, list []*Change) []*Change {
	list = sameSetting(list)
	list = sameHappening(list)
	list = ofDisks(list)
	list = explained(d, list)
	for _, c := range list {
		d.attribute(c, p)
		s.named(c)
	}
	list = ofOne(list)
	sortChanges(list)
	return list
}

// sameSetting joins settings that went from one value to another at one instant: a kernel
// variable is often known by two names.
func sameSetting(list []*Change) []*Change {
	type step struct {
		old, new string
		at       int64
	}
	first := make(map[step]*Change)
	return slices.DeleteFunc(list, func(c *Change) bool {
		if c.Kind != TunableChange {
			return false
		}
		k := step{c.OldText, c.NewText, c.At}
		if lead := first[k]; lead != nil {
			lead.Also = append(lead.Also, c)
			return true
		}
		first[k] = c
		return false
	})
}

// fewHappenings is how many events of a kind are listed one by one; more of them are counted.
const fewHappenings = 2

// sameHappening joins events of a kind, so that a day with forty gaps leaves room for what they
// were about.
func sameHappening(list []*Change) []*Change {
	byKind := make(map[string][]*Change)
	for _, c := range list {
		if c.Kind == Happened {
			byKind[c.Subject] = append(byKind[c.Subject], c)
		}
	}
	for kind, all := range byKind {
		if len(all) <= fewHappenings {
			delete(byKind, kind)
			continue
		}
		slices.SortFunc(all, func(x, y *Change) int { return cmp.Compare(x.At, y.At) })
		lead := all[0]
		longest := -1.0
		for _, c := range all {
			seconds, _ := strconv.ParseFloat(c.Event.Label("seconds"), 64)
			lead.Seconds += seconds
			if seconds > longest {
				longest = seconds
				lead.NewText = c.NewText
			}
		}
		lead.Times, lead.Until = len(all), all[len(all)-1].At
	}
	return slices.DeleteFunc(list, func(c *Change) bool {
		all := byKind[c.Subject]
		return c.Kind == Happened && len(all) > 0 && all[0] != c
	})
}

// most is how much of a change of the machine processes of one name must account for to be its
// explanation.
const most = 0.6

// explained joins a change of the machine to the process that caused it.
func explained(d *differ, list []*Change) []*Change {
	gone := make(map[*Change]bool)
	for _, m := range list {
		aspects, total := d.machineAspect(m)
		if aspects == nil {
			continue
		}
		part := func(p *Change) (x float64) {
			for _, aspect := range aspects {
				x += d.processPart(p, aspect)
			}
			return x
		}
		var cause *Change
		for _, p := range list {
			if x := part(p); x/total >= most && (cause == nil || math.Abs(x) > math.Abs(part(cause))) {
				cause = p
			}
		}
		if cause != nil {
			cause.Also = append(cause.Also, m)
			cause.Score = max(cause.Score, m.Score)
			gone[m] = true
		}
	}
	return slices.DeleteFunc(list, func(c *Change) bool { return gone[c] })
}

// machineAspect returns the aspects of processes that a change of the machine adds up, and by how
// much it changed, in the aspects' units.
func (d *differ) machineAspect(c *Change) (aspects []string, total float64) {
	if c.Kind != SystemChange {
		return nil, 0
	}
	total = c.After - c.Before
	name := c.Subject
	if rest, ok := strings.CutPrefix(name, "disk.dev."); ok {
		name = "disk.all." + rest
	}
	bytes := base(metric.Units{Space: 1, SpaceScale: c.Units.SpaceScale})
	switch name {
	case "kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice":
		return []string{"cpu"}, total
	case "mem.util.used", "mem.util.other", "mem.util.anonpages", "swap.used", "mem.util.committed_AS":
		return []string{"memory"}, total * base(c.Units)
	case "mem.util.available", "mem.util.free", "mem.util.swapFree", "swap.free":
		return []string{"memory"}, -total * base(c.Units)
	case "disk.all.read_bytes":
		return []string{"read"}, total * bytes
	case "disk.all.write_bytes":
		return []string{"write"}, total * bytes
	case "disk.all.total_bytes":
		return []string{"read", "write"}, total * bytes
	case "disk.all.blkread":
		return []string{"read"}, total * 512
	case "disk.all.blkwrite":
		return []string{"write"}, total * 512
	case "disk.all.blktotal":
		return []string{"read", "write"}, total * 512
	case "network.traffic.in_bytes", "network.all.in.bytes":
		return []string{"receive"}, total * bytes
	case "network.traffic.out_bytes", "network.all.out.bytes":
		return []string{"send"}, total * bytes
	case "filesys.used":
		return []string{"write"}, total * base(c.Units) / float64(d.r.B.To-d.r.B.From) * 1e9
	}
	return nil, 0
}

// moved returns the aspects of processes of which the machine did more than is usual, or for
// which it has no metric.
func (p *systemPair) moved(candidates map[seriesKey]*Change) map[string]bool {
	out := make(map[string]bool)
	told := make(map[string]bool)
	for _, name := range p.names {
		of, _ := p.d.machineAspect(&Change{Kind: SystemChange, Subject: name})
		for _, aspect := range of {
			told[aspect] = true
		}
	}
	for _, as := range aspects {
		out[as.name] = !told[as.name]
	}
	for _, c := range candidates {
		of, total := p.d.machineAspect(c)
		for _, aspect := range of {
			out[aspect] = out[aspect] || total > 0
		}
	}
	return out
}

// ofOne joins the changes about processes of one name; the one with the highest score leads.
func ofOne(list []*Change) []*Change {
	leads := make(map[string]*Change)
	return slices.DeleteFunc(list, func(c *Change) bool {
		name := c.Subject
		switch {
		case c.Kind == SystemChange && c.By != nil:
			name = c.By.Name
		case c.Kind != ProcessChange && c.Kind != ProcessNew && c.Kind != ProcessVanished:
			return false
		}
		lead := leads[name]
		if lead == nil {
			leads[name] = c
			return false
		}
		if lead.Kind == SystemChange && c.Kind == SystemChange {
			return false
		}
		lead.Also = append(lead.Also, append([]*Change{c}, c.Also...)...)
		c.Also = nil
		return true
	})
}

// ofDisks drops the changes that a disk which hangs, or takes longer, led to.
func ofDisks(list []*Change) []*Change {
	led := map[string]func(*Change) bool{Hung: ledByHung, awaitMetric: ledBySlow}
	for _, lead := range slices.Clone(list) {
		of := led[cmp.Or(lead.Aspect, lead.Subject)]
		if of == nil || lead.After < lead.Before {
			continue
		}
		list = slices.DeleteFunc(list, func(c *Change) bool {
			if c == lead || !of(c) {
				return false
			}
			lead.Related += 1 + c.Related
			lead.Score = max(lead.Score, c.Score)
			return true
		})
	}
	return list
}

// processPart returns by how much processes of one name changed in an aspect.
func (d *differ) processPart(c *Change, aspect string) float64 {
	switch c.Kind {
	case ProcessChange:
		for _, one := range append([]*Change{c}, c.Also...) {
			if one.Kind == ProcessChange && one.Aspect == aspect {
				return one.After - one.Before
			}
		}
	case ProcessNew, ProcessVanished:
		w := d.r.B
		sign := 1.0
		if c.Kind == ProcessVanished {
			w, sign = d.r.A, -1
		}
		for _, as := range aspects {
			if as.name == aspect {
				if x := as.of(c.Process, float64(w.To-w.From)/1e9); x == x {
					return sign * x
				}
			}
		}
	}
	return 0
}
