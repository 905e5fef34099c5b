package main

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// choice checks that a flag's value is one of the choices.
func choice[T ~string](flag string, given T, all []T) error {
	var names []string
	for _, c := range all {
		if c == given {
			return nil
		}
		names = append(names, string(c))
	}
	return fmt.Errorf("--%s %s: use %s%s", flag, given, strings.Join(names, ", "), query.Suggest(string(given), names))
}

// columnsUsage describes the flag for further columns.
const columnsUsage = "columns to add to the table: app, service, container, pod, session or others"

// The columns that tables have anyhow.
var (
	inRankings  = append(slices.Clone(answer.InRanking), "pid", "processes", "name")
	inProcesses = append(slices.Clone(answer.InTable), "name")
	inGroups    = append(slices.Clone(answer.InGroups), "name")
)

// further returns the columns that a user may add to a table of fields that has some already.
func further[T any](fields []answer.Field[T], there []string) (keys []string) {
	for _, f := range fields {
		if f.Key != "" && f.Key != "kind" && !slices.Contains(there, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// furtherColumns checks the columns that a user adds.
func furtherColumns[T any](fields []answer.Field[T], keys, there []string) error {
	known := further(fields, there)
	for i, key := range keys {
		switch {
		case slices.Contains(there, key) || slices.Contains(keys[:i], key):
			return fmt.Errorf("--columns %s: the table has this column", key)
		case !slices.Contains(known, key):
			return fmt.Errorf("--columns %s: use %s%s", key, strings.Join(known, ", "), query.Suggest(key, known))
		}
	}
	return nil
}

// processNames returns the names of the processes that were seen in a window.
func processNames(a query.Archive, w query.Window) []string {
	names := query.InstanceNames(a, w, &metric.Desc{Indom: "process"})
	for i, n := range names {
		names[i] = query.ProcessName(&metric.Instance{Name: n})
	}
	return names
}

// topAnswer ranks processes, or groups of them, by a quantity.
type topAnswer struct {
	a     *app
	by    query.By
	group query.Grouping
	m     *query.Matcher // which processes are ranked
	args  []string       // as the user wrote them
	more  []string       // further columns of the table
}

// check refuses quantities and groups that top does not have.
func (t *topAnswer) check() error {
	if err := choice("by", t.by, query.Bys); err != nil {
		return err
	}
	if err := choice("group", t.group, query.Groupings); err != nil {
		return err
	}
	return furtherColumns(answer.Places, t.more, inRankings)
}

func (t *topAnswer) write(w query.Window, n int) error {
	if err := t.check(); err != nil {
		return err
	}
	r, err := query.TopOf(t.a.Archive, w, t.m, t.by, t.group, n)
	if err != nil {
		return err
	}
	if r.N == 0 && !t.m.All() {
		if err := query.NoOwners(t.a.Archive, t.args); err != nil {
			return err
		}
		return nothing("no process %s between %s and %s%s", strings.Join(t.args, ", "), t.a.Show(r.From), t.a.Show(r.To),
			query.Suggest(t.args[0], processNames(t.a.Archive, w)))
	}
	return t.a.present(func() error { return t.text(r) }, func() error {
		rows, err := t.a.rows(answer.PlaceColumns()...)
		if err != nil {
			return err
		}
		if err := consumers(rows, r); err != nil {
			return err
		}
		return rows.Close()
	})
}

// text prints a ranking below the window that it covers.
func (t *topAnswer) text(r *query.Ranking) error {
	if len(r.Consumers) == 0 {
		what := "any " + string(t.by)
		if t.by == query.ByNet {
			what = t.by.Words()
		}
		t.a.complain(fmt.Sprintf("no process used %s between %s and %s", what, t.a.Show(r.From), t.a.Show(r.To)))
		return nil
	}
	t.a.prose(fmt.Sprintf("%s to %s (%s), %s", t.a.Show(r.From), t.a.Show(r.To), durationText(r.To-r.From), cli.Count(r.N, "process")))
	t.a.stdout.Println()
	return t.table(r)
}

// table prints a ranking as a table.
func (t *topAnswer) table(r *query.Ranking) error {
	keys := []string{"pid"}
	if t.group != query.PerProcess {
		keys[0] = "processes"
	}
	if t.by == query.ByRuns {
		keys = append(keys, "runs")
	}
	if t.by == query.ByNet {
		for _, key := range []string{"net_in", "net_out"} {
			if !slices.Contains(t.more, key) {
				keys = append(keys, key)
			}
		}
	}
	var columns []out.Column
	var fields []*answer.Field[*answer.Place]
	if t.group == query.PerOwner {
		keys = append(keys, "kind")
	}
	for _, key := range slices.Concat(keys, answer.InRanking, t.more, []string{"name"}) {
		f := answer.ByKey(answer.Places, key)
		c := f.Column()
		if key == string(t.by) {
			c.Keep = out.Always
		}
		fields, columns = append(fields, f), append(columns, c)
	}
	rows, err := t.a.rows(columns...)
	if err != nil {
		return err
	}
	for _, c := range r.Consumers {
		place := &answer.Place{Consumer: c, Ranking: r, By: t.by}
		cells := []out.Cell{hostCell(&c.Archive.Host)}
		for _, f := range fields {
			cells = append(cells, answer.Text(f.Text(place)))
		}
		if err := rows.Row(cells); err != nil {
			return err
		}
	}
	return rows.Close()
}

// consumers writes the rows of a ranking.
func consumers(rows out.Writer, r *query.Ranking) error {
	for _, c := range r.Consumers {
		cells := answer.PlaceCells(&answer.Place{Consumer: c, Ranking: r})
		if err := rows.Row(append([]out.Cell{hostCell(&c.Archive.Host)}, cells...)); err != nil {
			return err
		}
	}
	return nil
}
