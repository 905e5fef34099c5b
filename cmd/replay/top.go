package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
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
			if on.on {
				if a.from != "" {
					return errors.New("top --follow shows what is used now: leave --from out")
				}
				return a.followTop(cmd, &on, interval, query.By(by), query.Grouping(group), n)
			}
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.window()
			if err != nil {
				return err
			}
			if err := a.top(w, query.By(by), query.Grouping(group), n); err != nil {
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

// checkTop refuses quantities and groups that top does not have.
func checkTop(by query.By, group query.Grouping) error {
	if err := choice("by", by, query.Bys); err != nil {
		return err
	}
	return choice("group", group, query.Groupings)
}

func (a *app) top(w query.Window, by query.By, group query.Grouping, n int) error {
	if err := checkTop(by, group); err != nil {
		return err
	}
	r, err := query.Top(a.archive, w, by, group, n)
	if err != nil {
		return err
	}
	if a.table() {
		return a.topTable(r, by, group)
	}
	rows, err := a.topRows(false)
	if err != nil {
		return err
	}
	if err := a.consumers(rows, r); err != nil {
		return err
	}
	return rows.Close()
}

// topTable prints a ranking below the window that it covers.
func (a *app) topTable(r *query.Ranking, by query.By, group query.Grouping) error {
	if len(r.Consumers) == 0 {
		a.complain(fmt.Sprintf("no process used any %s between %s and %s", by, a.show(r.From), a.show(r.To)))
		return nil
	}
	a.prose(fmt.Sprintf("%s to %s (%s), %s", a.show(r.From), a.show(r.To), durationText(r.To-r.From), cli.Count(r.N, "process")))
	a.stdout.Println()
	return a.topOf(r, by, group)
}

// topOf prints a ranking as a table.
func (a *app) topOf(r *query.Ranking, by query.By, group query.Grouping) error {
	first := out.Column{Name: "pid", Right: true}
	if group != query.PerProcess {
		first = out.Column{Name: "processes", Right: true}
	}
	right := func(name string) out.Column { return out.Column{Name: name, Right: true} }
	columns := []out.Column{first}
	if by == query.ByRuns {
		columns = append(columns, right("runs"))
	}
	columns = append(columns, out.Column{Name: "user", Flex: true}, right("cpu"), right("cpu time"), right("memory"), right("read"),
		right("written"), right("energy"), right("wakeups"), right("faults"), right("share"), out.Column{Name: "name", Flex: true})
	mattering("top", columns...)
	for i := range columns {
		if columns[i].Name == ranked[by] {
			columns[i].Keep = always
		}
	}
	rows, err := a.rows(columns...)
	if err != nil {
		return err
	}
	for _, c := range r.Consumers {
		number := fmt.Sprint(query.ProcessID(c.Instance))
		if group != query.PerProcess {
			number = fmt.Sprint(c.Count)
		}
		cells := []out.Cell{hostCell(&c.Archive.Host), out.None(number)}
		if by == query.ByRuns {
			cells = append(cells, out.None(fmt.Sprint(c.Runs)))
		}
		err := rows.Row(append(cells, out.None(dash(c.User)),
			out.None(percent(r.CPU(c))), out.None(seconds(c.CPUTime())), out.None(bytesOf(c.Peak)),
			out.None(bytesOf(c.Gains[query.ReadBytes])), out.None(bytesOf(c.Gains[query.WrittenBytes])), out.None(joules(c.Gains[query.Energy])),
			out.None(count(c.Wakeups())), out.None(count(c.Gains[query.Faults])), out.None(percent(c.Amount(by)/r.Total)), out.Str(c.Name)))
		if err != nil {
			return err
		}
	}
	return rows.Close()
}

// ranked names the column for each quantity that processes are ranked by.
var ranked = map[query.By]string{
	query.ByCPU: "cpu", query.ByMemory: "memory", query.ByRead: "read", query.ByWrite: "written", query.ByEnergy: "energy",
	query.ByWakeups: "wakeups", query.ByFaults: "faults", query.ByRuns: "runs",
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func joules(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return human.Figures(x) + " J"
}

func count(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return human.Count(x)
}

// topFields are the fields of a consumer. Those that a process has, too, have the same names.
var topFields = []struct {
	name string
	of   func(*query.Consumer, *query.Ranking) out.Cell
}{
	{"pid", func(c *query.Consumer, _ *query.Ranking) out.Cell {
		if c.Count > 1 {
			return out.Cell{}
		}
		return out.Whole(int64(query.ProcessID(c.Instance)))
	}},
	{"name", func(c *query.Consumer, _ *query.Ranking) out.Cell { return out.Str(c.Name) }},
	{"key", func(c *query.Consumer, _ *query.Ranking) out.Cell {
		if c.Count > 1 {
			return out.Cell{}
		}
		return out.Str(c.Instance.Key)
	}},
	{"user", func(c *query.Consumer, _ *query.Ranking) out.Cell { return text(c.User) }},
	{"count", func(c *query.Consumer, _ *query.Ranking) out.Cell { return out.Whole(int64(c.Count)) }},
	{"cpu_percent", func(c *query.Consumer, r *query.Ranking) out.Cell { return number(100 * c.CPUTime() / r.SecondsOf(c)) }},
	{"rss_kb", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Resident / 1024) }},
	{"vm_size_kb", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Virtual / 1024) }},
	{"uptime_secs", func(c *query.Consumer, _ *query.Ranking) out.Cell {
		if c.Start == 0 || c.Count > 1 {
			return out.Cell{}
		}
		return out.Number(float64(c.To-c.Start) / 1e9)
	}},
	{"cpu_seconds", func(c *query.Consumer, _ *query.Ranking) out.Cell { return number(c.CPUTime()) }},
	{"user_seconds", func(c *query.Consumer, _ *query.Ranking) out.Cell { return number(c.Gains[query.UserTime]) }},
	{"system_seconds", func(c *query.Consumer, _ *query.Ranking) out.Cell { return number(c.Gains[query.SystemTime]) }},
	{"memory_peak", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Peak) }},
	{"memory_mean", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Mean) }},
	{"read_bytes", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Gains[query.ReadBytes]) }},
	{"write_bytes", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Gains[query.WrittenBytes]) }},
	{"energy_joules", func(c *query.Consumer, _ *query.Ranking) out.Cell { return number(c.Gains[query.Energy]) }},
	{"wakeups", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Wakeups()) }},
	{"faults", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Gains[query.Faults]) }},
	{"major_faults", func(c *query.Consumer, _ *query.Ranking) out.Cell { return whole(c.Gains[query.MajorFaults]) }},
	{"from", func(c *query.Consumer, _ *query.Ranking) out.Cell { return out.At(c.From) }},
	{"to", func(c *query.Consumer, _ *query.Ranking) out.Cell { return out.At(c.To) }},
}

// topRows begins rows about consumers, for programs.
func (a *app) topRows(live bool) (out.Writer, error) {
	columns := []out.Column{{Name: "time"}, {Name: "sample_window_ms"}}
	for _, f := range topFields {
		columns = append(columns, out.Column{Name: f.name, Group: "process"})
	}
	columns = append(columns, out.Column{Name: "threads"}, out.Column{Name: "platform"})
	if live {
		return a.liveRows(columns...)
	}
	return a.rows(columns...)
}

// consumers writes the rows of a ranking.
func (a *app) consumers(rows out.Writer, r *query.Ranking) error {
	for _, c := range r.Consumers {
		cells := []out.Cell{hostCell(&c.Archive.Host), out.At(r.To), whole(r.SecondsOf(c) * 1000)}
		for _, f := range topFields {
			cells = append(cells, f.of(c, r))
		}
		if err := rows.Row(append(cells, threadsCell(nil), out.Str(platform(&c.Archive.Host)))); err != nil {
			return err
		}
	}
	return nil
}
