package query

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"tachograph/sample/metric"
)

// merged makes one line of the changes that say one thing. The list is sorted,
// before and after.
func merged(d *differ, list []*Change) []*Change {
	list = sameSetting(list)
	list = sameHappening(list)
	list = explained(d, list)
	sortChanges(list)
	return list
}

// sameSetting joins settings that went from one value to another at one
// instant: a kernel variable is often known by two names.
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

// fewHappenings of a kind are told one by one, more of them are counted.
const fewHappenings = 2

// sameHappening joins events of a kind, so that a day with forty gaps has room
// for what they were about.
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

// most is how much of a change of the machine processes of one name must
// account for to be its explanation.
const most = 0.6

// explained joins a change of the machine to the process that made it.
func explained(d *differ, list []*Change) []*Change {
	gone := make(map[*Change]bool)
	for _, m := range list {
		aspect, total := d.machineAspect(m)
		if aspect == "" {
			continue
		}
		var cause *Change
		for _, p := range list {
			part := d.processPart(p, aspect)
			if part/total >= most && (cause == nil || math.Abs(part) > math.Abs(d.processPart(cause, aspect))) {
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

// machineAspect says which aspect of processes a change of the machine adds
// up, and by how much it changed, in the aspect's units.
func (d *differ) machineAspect(c *Change) (aspect string, total float64) {
	if c.Kind != SystemChange || c.Instance != "" {
		return "", 0
	}
	total = c.After - c.Before
	switch c.Subject {
	case "kernel.all.cpu.user", "kernel.all.cpu.sys":
		return "cpu", total
	case "mem.util.used", "mem.util.other", "mem.util.anonpages":
		return "memory", total * base(c.Units)
	case "mem.util.available", "mem.util.free":
		return "memory", -total * base(c.Units)
	case "disk.all.read_bytes":
		return "read", total * base(metric.Units{Space: 1, SpaceScale: c.Units.SpaceScale})
	case "disk.all.write_bytes":
		return "write", total * base(metric.Units{Space: 1, SpaceScale: c.Units.SpaceScale})
	}
	return "", 0
}

// processPart is by how much processes of one name changed in an aspect.
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
