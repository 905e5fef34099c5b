package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

func topCommand(a *app) *cobra.Command {
	var by, group, interval string
	var n int
	var on followFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Who used most over a window, by exact totals",
		Long: `top ranks processes by how much their counters grew over the window, not by
samples of rates: the use of a process that lived only for seconds counts in
full. It ranks memory by the largest footprint (or resident size, where the
kernel has no footprint): the largest sample in the window, or the kernel's own
peak, if that rose in the window or the process began in it. A peak from before
the window does not count.

CPU is in percent of one core: 200 % are two cores that were busy all the time. The
machine's cpu, in the overview, is in percent of all cores together.

top sums up each of several hosts by itself, over the time that was recorded there.

--group adds up the processes of the same name, user or parent. --by runs, which is
meant for --group name, ranks by how many processes began: programs that are started
again and again.

--follow ranks anew with each reading of the processes, or every --interval, by
the use since the reading before, on the whole screen of a terminal (q ends it)
or as one table after the other. It begins with the last reading.`,
		Example: `  replay top --from 03:00 --to 03:10
  replay top --from -24h --by write --group name -n 10
  replay top --group name --by runs
  replay top --follow --by write --interval 10s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if query.By(by) == query.ByRuns && !cmd.Flags().Changed("group") {
				group = string(query.PerName)
			}
			if err := on.check(); err != nil {
				return err
			}
			if interval != "" && !on.on {
				return errors.New("--interval says how often to rank anew with --follow")
			}
			t := &topAnswer{a, query.By(by), query.Grouping(group)}
			if on.on {
				if a.From != "" {
					return errors.New("top --follow shows what is used now: leave --from out")
				}
				return t.follow(cmd, &on, interval, n)
			}
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			if err := t.write(w, n); err != nil {
				return err
			}
			a.tellDoubtsOf(w, (*query.Distrust).OfProcesses)
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&by, "by", "cpu", "cpu, memory, read, write, energy, wakeups, faults or runs")
	fl.StringVar(&group, "group", "process", "process, name, user or parent")
	fl.IntVarP(&n, "number", "n", 20, "how many; 0 for all")
	on.register(cmd)
	fl.StringVar(&interval, "interval", "", "with --follow: how often, if not with each reading of the processes (10s, 1m)")
	return cmd
}

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

// topAnswer ranks processes, or groups of them, by a quantity.
type topAnswer struct {
	a     *app
	by    query.By
	group query.Grouping
}

// check refuses quantities and groups that top does not have.
func (t *topAnswer) check() error {
	if err := choice("by", t.by, query.Bys); err != nil {
		return err
	}
	return choice("group", t.group, query.Groupings)
}

func (t *topAnswer) write(w query.Window, n int) error {
	if err := t.check(); err != nil {
		return err
	}
	r, err := query.Top(t.a.Archive, w, t.by, t.group, n)
	if err != nil {
		return err
	}
	return t.a.present(func() error { return t.table(r) }, func() error {
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

// table prints a ranking below the window that it covers.
func (t *topAnswer) table(r *query.Ranking) error {
	if len(r.Consumers) == 0 {
		t.a.complain(fmt.Sprintf("no process used any %s between %s and %s", t.by, t.a.Show(r.From), t.a.Show(r.To)))
		return nil
	}
	t.a.prose(fmt.Sprintf("%s to %s (%s), %s", t.a.Show(r.From), t.a.Show(r.To), durationText(r.To-r.From), cli.Count(r.N, "process")))
	t.a.stdout.Println()
	return t.rows(r)
}

// rows prints a ranking as a table.
func (t *topAnswer) rows(r *query.Ranking) error {
	keys := []string{"pid"}
	if t.group != query.PerProcess {
		keys[0] = "processes"
	}
	if t.by == query.ByRuns {
		keys = append(keys, "runs")
	}
	var columns []out.Column
	var fields []*answer.Field[*answer.Place]
	for _, key := range append(append(keys, answer.InRanking...), "name") {
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
