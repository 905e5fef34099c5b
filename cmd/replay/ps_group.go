package main

import (
	"errors"
	"fmt"
	"slices"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// momentGroupings are the ways to bring together the processes of a moment. What a parent's children are is for
// --tree to show.
var momentGroupings = slices.DeleteFunc(slices.Clone(query.Groupings), func(g query.Grouping) bool {
	return g == query.PerProcess || g == query.PerParent
})

const groupUsage = "name, user, owner, app, service, container, pod or session: what such processes use together"

// check refuses groups and columns that ps does not have.
func (q *psAnswer) check() error {
	if q.group == "" {
		return furtherColumns(answer.Processes, q.f.more, inProcesses)
	}
	if err := choice("group", q.group, momentGroupings); err != nil {
		return err
	}
	switch {
	case q.f.tree:
		return errors.New("--group and --tree: choose one of them")
	case (q.a.From != "" || q.a.To != "") && q.f.at == "":
		return errors.New("ps --group shows one moment: name it with --at, or ask replay top --group about a span of time")
	}
	return furtherColumns(answer.Groups, q.f.more, inGroups)
}

// tellUnowned remarks on the times of a window of which the recording does not say whose the
// processes are.
func (a *app) tellUnowned(w query.Window) {
	for _, u := range query.WithoutOwners(a.Archive, w) {
		text := "owners are not recorded"
		if u.Always || a.ManyHosts() {
			text += " on " + u.Host.Name
		}
		if !u.Always {
			text += fmt.Sprintf(" from %s to %s", a.Show(u.From), a.Show(u.To))
		}
		a.remark(text)
	}
}

// groups prints what the processes of each group have and use together. stale remarks on when they were read.
func (q *psAnswer) groups(list []*query.Process, stale func(read int64)) error {
	groups := query.Groups(list, q.group)
	owned := slices.ContainsFunc(groups, func(g *query.Group) bool { return g.Kind != "" })
	if q.group.OfOwners() && !owned && !query.OwnersRecorded(q.a.Archive) {
		return query.ErrNoOwners
	}
	var sums []*query.Process
	of := make(map[*query.Process]*query.Group)
	for _, g := range groups {
		sums, of[g.Sum] = append(sums, g.Sum), g
	}
	q.order(sums)
	for i, sum := range sums {
		groups[i] = of[sum]
	}
	total := len(groups)
	if q.f.n > 0 && total > q.f.n {
		groups = groups[:q.f.n]
	}
	stale(list[0].At)
	if err := q.a.present(func() error { return q.groupText(groups) }, func() error { return q.groupRows(groups) }); err != nil {
		return err
	}
	if total > len(groups) {
		q.a.remark(fmt.Sprintf("%d of %s", len(groups), cli.Count(total, "group")))
	}
	if q.group.OfOwners() {
		q.a.tellUnowned(query.Window{Hosts: q.w.Hosts, From: list[0].At, To: list[0].At})
	}
	return nil
}

// groupRows writes groups for programs.
func (q *psAnswer) groupRows(groups []*query.Group) error {
	w, err := q.a.rows(answer.GroupColumns()...)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := w.Row(append([]out.Cell{hostCell(&g.Sum.Archive.Host)}, answer.GroupCells(g)...)); err != nil {
			return err
		}
	}
	return w.Close()
}

// groupText prints groups as a table.
func (q *psAnswer) groupText(groups []*query.Group) error {
	fields := answer.Used(answer.Groups, answer.InGroups, groups)
	more := slices.Clone(q.f.more)
	if q.group == query.PerOwner {
		more = append(more, "kind")
	}
	for _, key := range append(more, "name") {
		fields = append(fields, answer.ByKey(answer.Groups, key))
	}
	var columns []out.Column
	for _, f := range fields {
		columns = append(columns, f.Column())
	}
	w, err := q.a.rows(columns...)
	if err != nil {
		return err
	}
	for _, g := range groups {
		cells := []out.Cell{hostCell(&g.Sum.Archive.Host)}
		for _, f := range fields {
			cells = append(cells, answer.Text(f.Text(g)))
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	return w.Close()
}
