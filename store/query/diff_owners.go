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

// called returns what distinguishes the group of a process from others; "" if it belongs to none.
func (d *differ) called(in *metric.Instance) string { return d.group().key(in) }

// belongings returns whose the processes are that changes are about; nothing where owners are
// compared anyway.
func (d *differ) belongings(list []*Change) Belongings {
	if d.group() != PerName || !slices.ContainsFunc(list, func(c *Change) bool { return c.Process != nil }) {
		return nil
	}
	return BelongingsOf(d.a, d.r.A, d.r.B)
}

// belong says of changes whose the processes are that they are about. Where owners are compared,
// it gives these their names.
func (d *differ) belong(list []*Change, b Belongings) {
	if d.group() != PerName {
		d.nameOwners(list)
		return
	}
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

// alone is the part of an owner's change that the processes of one name must account for to be
// named instead of the owner.
const alone = 2.0 / 3

// ofOwners replaces the changes of several names that have one owner by that of the owner, where
// none of the names accounts for most of it. What people do in a session is no single thing.
func (d *differ) ofOwners(list []*Change, p *processPair, b Belongings) []*Change {
	members := make(map[Whose][]*Change)
	for _, c := range list {
		if whose := b.Of(c.Subject); c.Kind == ProcessChange && c.Aspect != EndsBadly && whose != (Whose{}) && whose.Kind != metric.OwnerSession {
			members[whose] = append(members[whose], c)
		}
	}
	joined := make(map[*Change]*Change) // with what is left of them
	var out []*Change
	for _, whose := range slices.SortedFunc(maps.Keys(members), func(x, y Whose) int { return cmp.Compare(x.Key(), y.Key()) }) {
		if some := members[whose]; len(some) > 1 {
			if c := d.ofOwner(whose, some, p, b); c != nil {
				out = append(out, c)
				for _, one := range some {
					joined[one] = one.without(c)
				}
			}
		}
	}
	if len(out) == 0 {
		return list
	}
	for _, c := range list {
		rest, ok := joined[c]
		if !ok {
			rest = c
		}
		if rest != nil {
			out = append(out, rest)
		}
	}
	sortChanges(out)
	return out
}

// without returns what is left of the changes of a name without the aspects that its owner's
// changes have; nil if that is nothing.
func (c *Change) without(owner *Change) *Change {
	said := func(one *Change) bool {
		return one.Aspect == owner.Aspect || slices.ContainsFunc(owner.Also, func(o *Change) bool { return o.Aspect == one.Aspect })
	}
	left := slices.DeleteFunc(append([]*Change{c}, c.Also...), said)
	if len(left) == 0 {
		return nil
	}
	left[0].Also = left[1:]
	return left[0]
}

// ofOwner returns the change of an owner of which several names changed, in the aspects for most
// of which no single name accounts; nil if there are none.
func (d *differ) ofOwner(whose Whose, members []*Change, p *processPair, b Belongings) *Change {
	names := slices.Sorted(slices.Values(b.Names(whose, mostNames)))
	count := 0
	for _, name := range names {
		if used := p.b.byName[name]; used != nil && b.Of(name) == whose {
			count += used.Count
		}
	}
	var found []*Change
	for _, as := range aspects {
		before, after, effect, most := 0.0, 0.0, 0.0, 0.0
		for _, name := range names {
			if b.Of(name) == whose {
				before, after = before+p.a.amount(name, as.of), after+p.b.amount(name, as.of)
			}
		}
		for _, c := range members {
			for _, one := range append([]*Change{c}, c.Also...) {
				if one.Aspect == as.name && one.Kind == ProcessChange {
					effect, most = max(effect, one.Effect), max(most, (one.After-one.Before)/(after-before))
				}
			}
		}
		impact, large := d.sizeable(as.name, before, after)
		if !large || effect == 0 || most >= alone {
			continue
		}
		c := &Change{Kind: ProcessChange, Archive: members[0].Archive, Subject: whose.Words(count), Aspect: as.name, Before: before, After: after,
			Units: as.units, Rate: as.rate, Impact: impact, Effect: effect, Process: members[0].Process}
		c.Score = score(c)
		if after < before {
			c.Score *= lessScore
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil
	}
	sortChanges(found)
	found[0].Also = found[1:]
	return found[0]
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
