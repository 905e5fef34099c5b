package query

import (
	"cmp"
	"maps"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// group returns how processes are grouped: what changed is one of these groups.
func (d *differ) group() Grouping { return cmp.Or(d.r.Group, PerName) }

// called returns what tells the group of a process from others; "" if it belongs to none.
func (d *differ) called(in *metric.Instance) string { return d.group().key(in) }

// belong says of changes whose the processes are that they are about. Where owners are compared,
// it gives these their names.
func (d *differ) belong(list []*Change) {
	if d.group().OfOwners() {
		d.nameOwners(list)
		return
	}
	if !slices.ContainsFunc(list, func(c *Change) bool { return c.Process != nil || c.By != nil }) {
		return
	}
	b := BelongingsOf(d.a, d.r.A, d.r.B)
	for _, c := range list {
		for _, one := range append([]*Change{c}, c.Also...) {
			if one.Process != nil {
				one.Whose = b.Of(one.Subject)
			}
			if one.By != nil {
				one.By.Whose = b.Of(one.By.Name)
			}
		}
	}
}

// nameOwners replaces the keys of owners by their names.
func (d *differ) nameOwners(list []*Change) {
	words := make(map[string]string)
	for _, w := range []Window{d.r.A, d.r.B} {
		for life := range d.a.Lives("process", w.From, w.To) {
			if kind, name := d.group().name(life.Instance); kind != "" {
				words[d.called(life.Instance)] = Whose{kind, name}.Words(0)
			}
		}
	}
	for _, c := range list {
		for _, one := range append([]*Change{c}, c.Also...) {
			if one.Process != nil {
				one.Subject = cmp.Or(words[one.Subject], one.Subject)
			}
			if one.By != nil {
				one.By.Name = cmp.Or(words[one.By.Name], one.By.Name)
			}
		}
	}
}

// restartScore ranks restarts like other events.
const restartScore = 0.35

// restarts returns the owners of which processes were there through most of the first window, none
// of them lasted to the end of the second, and others did. After a boot all are new.
func (d *differ) restarts() []*Change {
	if d.elsewhere() || d.r.Usual != nil || !OwnersRecorded(d.a) {
		return nil
	}
	type run struct {
		old, new *store.Life // the first of those before, and of those that lasted
		lasted   bool        // some process was there before and after
	}
	runs := make(map[Whose]*run)
	slack := (missedDue + 1) * max(d.every, 1)
	for life := range d.a.Lives("process", d.r.A.From, d.r.B.To) {
		whose := WhoseIs(life.Instance)
		if whose == (Whose{}) || whose.Kind == metric.OwnerSession || life.Archive.Host.ID != d.r.Host {
			continue
		}
		r := runs[whose]
		if r == nil {
			if len(runs) >= mostNames {
				continue
			}
			r = new(run)
			runs[whose] = r
		}
		before := float64(min(life.To, d.r.A.To)-max(life.From, d.r.A.From)) >= mostlyThere*float64(d.r.A.To-d.r.A.From)
		after := life.To >= d.r.B.To-slack
		first := func(to **store.Life) {
			if *to == nil || life.From < (*to).From || life.From == (*to).From && life.Instance.Key < (*to).Instance.Key {
				copied := *life
				*to = &copied
			}
		}
		switch {
		case life.From <= d.r.A.To && after:
			r.lasted = true
		case before:
			first(&r.old)
		case after:
			first(&r.new)
		}
	}
	var out []*Change
	for _, whose := range slices.SortedFunc(maps.Keys(runs), func(x, y Whose) int { return cmp.Compare(x.Key(), y.Key()) }) {
		r := runs[whose]
		if r.lasted || r.old == nil || r.new == nil || r.old.Archive.BootID != r.new.Archive.BootID {
			continue
		}
		at := cmp.Or(r.new.Instance.Began(), r.new.From)
		out = append(out, &Change{Kind: Restarted, Archive: r.new.Archive, Subject: whose.Words(0), Whose: whose, At: at, Score: restartScore,
			Ran: r.old.Instance, Runs: r.new.Instance})
	}
	return out
}

// ofRestarts joins to the restart of an owner what came and went with it: names of its processes.
func ofRestarts(list []*Change) []*Change {
	of := make(map[Whose]*Change)
	for _, c := range list {
		if c.Kind == Restarted {
			of[c.Whose] = c
		}
	}
	return slices.DeleteFunc(list, func(c *Change) bool {
		lead := of[c.Whose]
		if lead == nil || lead == c || c.Kind != ProcessNew && c.Kind != ProcessVanished {
			return false
		}
		lead.Also = append(lead.Also, append([]*Change{c}, c.Also...)...)
		lead.Score = max(lead.Score, c.Score)
		c.Also = nil
		return true
	})
}
