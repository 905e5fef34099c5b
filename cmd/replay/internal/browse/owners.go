package browse

import (
	"slices"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
)

// An owner is an app, a service, a container, a pod or a session in the process table.
type owner struct {
	kind  string
	count int // of its processes that live
	open  bool
}

// owned puts processes below their owners. Of an owner that is not open the processes are left out.
func (g arrangement) owned(list []row) []row {
	of := make(map[*query.Process]row)
	var living, ended []*query.Process
	for _, r := range list {
		of[r.p.Process] = r
		if r.ended {
			ended = append(ended, r.p.Process)
		} else {
			living = append(living, r.p.Process)
		}
	}
	var rows []row
	below := make(map[string][]*query.Process)
	add := func(processes []*query.Process, ended bool) {
		for _, group := range query.Groups(processes, query.PerOwner) {
			key := ownerKey + group.Sum.Instance.Key
			if below[key] == nil {
				o := &owner{kind: group.Kind, open: slices.Contains(g.opened, key)}
				if !ended {
					o.count = len(group.Processes)
				}
				rows = append(rows, row{p: &moment.Process{Process: group.Sum, Key: key}, owner: o, ended: ended})
			}
			below[key] = append(below[key], group.Processes...)
		}
	}
	add(living, false)
	add(ended, true)
	by := columnOf(g.sort)
	slices.SortStableFunc(rows, func(x, y row) int { return compare(by, x.p, y.p, g.reverse) })
	var out []row
	for _, r := range rows {
		out = append(out, r)
		if !r.owner.open {
			continue
		}
		list := below[r.p.Key]
		for i, p := range list {
			one := of[p]
			if one.lead = "├ "; i == len(list)-1 {
				one.lead = "└ "
			}
			out = append(out, one)
		}
	}
	return out
}

// ownerKey begins the keys of owners in the table; the keys of processes begin with a boot.
const ownerKey = "owner\x00"

// text says what an owner is, behind its name.
func (o *owner) text() string {
	var parts []string
	if o.kind != "" {
		parts = append(parts, o.kind)
	}
	if o.count > 0 {
		parts = append(parts, cli.Count(o.count, "process"))
	}
	return "  " + strings.Join(parts, ", ")
}

// toggle opens or closes the owner with a key. It returns false if there is none.
func (a *app) toggle(key string) bool {
	i := slices.IndexFunc(a.rows(), func(r row) bool { return r.owner != nil && r.p.Key == key })
	if i < 0 {
		return false
	}
	if k := slices.Index(a.opened, key); k >= 0 {
		a.opened = slices.Delete(slices.Clone(a.opened), k, k+1)
	} else {
		a.opened = append(slices.Clone(a.opened), key)
	}
	return true
}

// byOwner arranges the processes by owner, or no longer.
func (a *app) byOwner() {
	if !a.owners && !hasOwners(a.shownMoment) {
		a.tell(query.ErrNoOwners.Error(), false)
		return
	}
	a.owners, a.tree = !a.owners, false
	a.arrangedOnce = true
}

// asTree arranges the processes below their parents, or no longer.
func (a *app) asTree() {
	a.tree, a.owners = !a.tree, false
	a.arrangedOnce = true
}

// firstArrangement shows owners first where they were recorded, until the user chooses.
func (a *app) firstArrangement() {
	if !a.arrangedOnce && a.shownMoment != nil && len(a.shownMoment.Processes) > 0 {
		a.arrangedOnce, a.owners = true, hasOwners(a.shownMoment)
	}
}

func hasOwners(m *moment.Moment) bool {
	return m != nil && slices.ContainsFunc(m.Processes, func(p *moment.Process) bool {
		_, name := p.Instance.MainOwner()
		return name != ""
	})
}
