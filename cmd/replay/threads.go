package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func threadsCommand(a *app) *cobra.Command {
	var at, sortBy string
	var n int
	cmd := &cobra.Command{
		Use:   "threads [PATTERN|PID...]",
		Short: "The threads at a moment, of the processes whose threads were recorded",
		Long: `threads prints the threads of the processes that match, as they were at --at or
at the end of the recording. Recorder reads threads only of the processes that
its configuration names.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			if err := a.threads(w, at, sortBy, n, args); err != nil {
				return err
			}
			a.tellDoubtsOf(w, (*query.Distrust).OfProcesses)
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&at, "at", "", "the moment (default: the end of the recording)")
	fl.StringVar(&sortBy, "sort", "cpu", "cpu, faults, pid or name")
	fl.IntVarP(&n, "number", "n", 0, "only the first N")
	return cmd
}

func (a *app) threads(w query.Window, when, sortBy string, n int, args []string) error {
	at, err := a.moment(when, w)
	if err != nil {
		return err
	}
	m, err := query.NewMatcher(args)
	if err != nil {
		return err
	}
	order, err := processOrder(sortBy)
	if err != nil {
		return err
	}
	all := query.ThreadsAt(a.Archive, w, at, nil)
	if len(all) == 0 {
		return nothing("no threads were recorded at %s: the class thread is off unless the configuration turns it on", a.Show(at))
	}
	processes := make(map[string]*query.Process)
	for _, p := range query.Processes(a.Archive, w, at, nil) {
		processes[p.Archive.Host.ID+"/"+p.Instance.Key] = p
	}
	unknown := &query.Process{Instance: &metric.Instance{}}
	process := func(t *query.Process) *query.Process {
		return cmp.Or(processes[t.Archive.Host.ID+"/"+t.Instance.Label("process")], unknown)
	}
	of := func(t *query.Process) string { return process(t).Name }
	var list []*query.Process
	for _, i := range m.Choose(len(all), func(i int) (*metric.Instance, int, []string) {
		return process(all[i]).Instance, all[i].PID, []string{of(all[i]), all[i].Name}
	}) {
		list = append(list, all[i])
	}
	if len(list) == 0 {
		if err := query.NoOwners(a.Archive, args); err != nil {
			return err
		}
		return nothing("no threads of %s were recorded at %s", strings.Join(args, ", "), a.Show(at))
	}
	order(list)
	if n > 0 && len(list) > n {
		list = list[:n]
	}
	a.stances(w, at)
	return a.threadRows(list, of)
}

func (a *app) threadRows(list []*query.Process, of func(*query.Process) string) error {
	columns := []out.Column{{Name: "time", Only: out.InMachine}, {Name: "sample_window_ms", Only: out.InMachine},
		{Name: "pid", Right: true}, {Name: "process", Keep: out.Always, Flex: true}}
	fields := answer.Named(answer.Threads)
	for _, f := range fields {
		columns = append(columns, out.Column{Name: f.Name, Only: out.InMachine, Kind: f.Kind()})
	}
	columns = append(columns, out.Column{Name: "platform", Only: out.InMachine})
	for _, key := range answer.OfThread {
		c := answer.ByKey(answer.Threads, key).Column()
		c.Only = out.InTables
		columns = append(columns, c)
	}
	w, err := a.rows(columns...)
	if err != nil {
		return err
	}
	for _, t := range list {
		cells := []out.Cell{hostCell(&t.Archive.Host), out.At(t.At), answer.Whole(t.Window * 1000), out.Whole(int64(t.PID)), answer.Text(of(t))}
		for _, f := range fields {
			cells = append(cells, f.Cell(t))
		}
		cells = append(cells, out.Str(answer.Platform(&t.Archive.Host)))
		for _, text := range answer.Texts(answer.Threads, answer.OfThread, t) {
			cells = append(cells, answer.Text(text))
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	return w.Close()
}
