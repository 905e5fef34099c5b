package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

func psCommand(a *app) *cobra.Command {
	f := &psFlags{}
	cmd := &cobra.Command{
		Use:   "ps [PATTERN|PID...]",
		Short: "The processes at a moment, or the life of one",
		Long: `ps prints the process table as it was: at --at, or at the end of the recording.
Rates are over the interval that ends there. A PATTERN is a name, a glob or
/regexp/; a name that no process has means those that contain it. It may also name an
owner: app=Safari, unit=nginx*, container=web*, pod=, session=, owner=.

With --from or --to it prints the history of each process that matches: one row
for each step, what it used in all, when it began, how it ended, and its
parents.

--group shows what the processes of the same name, user, app, service, container, pod
or session hold and use together; of the same "owner", whichever of these people mean.

The memory of a process is its footprint where the kernel has one, else its resident
size. A terminal of 110 columns or more also shows its command line, where the
recorder kept it, else its program.`,
		Example: `  replay ps --at 03:12 --sort memory -n 10
  replay ps Safari --from 03:00 --to 04:00
  replay ps --group app
  replay ps 612 --at -5m --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			m, err := query.NewMatcher(args)
			if err != nil {
				return err
			}
			order, err := processOrder(f.sort)
			if err != nil {
				return err
			}
			q := &psAnswer{a, w, m, f, args, query.Grouping(f.group), order}
			if err := q.check(); err != nil {
				return err
			}
			if (a.From != "" || a.To != "") && f.at == "" {
				err = q.history()
			} else {
				err = q.table()
			}
			if err != nil {
				return err
			}
			a.tellDoubtsOf(a.Used, (*query.Distrust).OfProcesses)
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.at, "at", "", "the moment (default: the end of the recording)")
	fl.StringVar(&f.sort, "sort", "cpu", sortUsage())
	fl.BoolVar(&f.tree, "tree", false, "children below their parents")
	fl.IntVarP(&f.n, "number", "n", 0, "only the first N")
	fl.StringVar(&f.group, "group", "", groupUsage)
	fl.StringSliceVar(&f.more, "columns", nil, columnsUsage)
	fl.StringVar(&f.step, "step", "", "length of a history's steps")
	return cmd
}

// processOrder returns a function that sorts processes or threads by a field; unknown values are
// last.
func processOrder(by string) (sort func([]*query.Process), err error) {
	f := answer.ByKey(answer.Processes, by)
	if f == nil {
		names := sortNames()
		return nil, fmt.Errorf("--sort %s: processes are sorted by %s%s", by, strings.Join(names, ", "), query.Suggest(by, names))
	}
	return func(list []*query.Process) {
		slices.SortStableFunc(list, func(x, y *query.Process) int {
			return cmp.Or(f.Compare(x, y, false), cmp.Compare(x.PID, y.PID))
		})
	}, nil
}

// sortUsage lists them for the help.
func sortUsage() string {
	last := len(answer.OnScreen) - 1
	return strings.Join(answer.OnScreen[:last], ", ") + " or " + answer.OnScreen[last]
}

// sortNames are the fields that processes can be sorted by.
func sortNames() []string { return slices.Sorted(slices.Values(answer.OnScreen)) }

// moment resolves --at; without it, the end of the recording of the window's hosts.
func (s *session) moment(text string, w query.Window) (int64, error) {
	from, to, _ := query.Covered(s.Archive, query.Window{Hosts: w.Hosts})
	if text == "" {
		s.Resolved["at"] = s.In(to).Format(time.RFC3339Nano)
		return to, nil
	}
	at, err := s.Instant("at", text)
	if err != nil {
		return 0, err
	}
	if at < from {
		return 0, &scope.Error{Kind: scope.Outside, Err: fmt.Errorf("nothing was recorded until %s: the archive covers %s to %s", s.Show(at), s.Show(from), s.Show(to))}
	}
	if every := int64(time.Minute); at > to+every {
		text := fmt.Sprintf("the archive covers %s to %s", s.Show(from), s.Show(to))
		if hosts := s.hostsOf(w); len(hosts) == 1 {
			if stance := query.StanceAt(s.Archive, hosts[0].ID, at); stance.Before != 0 {
				text = moment.Sentence(&stance, s.Zone()) + " (" + text + ")"
			}
		}
		return 0, &scope.Error{Kind: scope.Outside, Err: fmt.Errorf("nothing was recorded at %s: %s", s.Show(at), text)}
	}
	return at, nil
}

// stances prints, before an answer that shows the last values, what state each host was in that
// was not being recorded at an instant. It reports whether there was such a host.
func (a *app) stances(w query.Window, at int64) bool {
	hosts := a.hostsOf(w)
	return a.tellStances(hosts, stancesAt(a.Archive, hosts, at))
}

// stancesAt returns the stance of each host at an instant.
func stancesAt(archive query.Archive, hosts []metric.Host, at int64) (list []query.Stance) {
	for _, h := range hosts {
		list = append(list, query.StanceAt(archive, h.ID, at))
	}
	return list
}

// tellStances prints the stances of the hosts that were not being recorded, as stances does.
func (a *app) tellStances(hosts []metric.Host, list []query.Stance) bool {
	said := false
	for i, h := range hosts {
		text := moment.Sentence(&list[i], a.Zone())
		if text == "" {
			continue
		}
		if said = true; a.ManyHosts() {
			text = h.Name + ": " + text
		}
		if a.sink == nil {
			a.complain(text)
		}
	}
	return said
}

func (q *psAnswer) table() error {
	at, err := q.a.moment(q.f.at, q.w)
	if err != nil {
		return err
	}
	var all []*query.Process
	var stances []query.Stance
	hosts := q.a.hostsOf(q.w)
	err = query.Beside(q.a.Archive, func(archive query.Archive) error {
		all = query.Processes(archive, q.w, at, nil)
		return nil
	}, func(archive query.Archive) error {
		stances = stancesAt(archive, hosts, at)
		return nil
	})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nothing("no processes were recorded at %s", q.a.Show(at))
	}
	var list []*query.Process
	for _, i := range q.m.Choose(len(all), func(i int) (*metric.Instance, int, []string) {
		return all[i].Instance, all[i].PID, []string{all[i].Name}
	}) {
		list = append(list, all[i])
	}
	if len(list) == 0 {
		if err := query.NoOwners(q.a.Archive, q.args); err != nil {
			return err
		}
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return nothing("no process %s at %s%s (with --from and --to, replay ps looks at a span of time)",
			strings.Join(q.args, ", "), q.a.Show(all[0].At), query.Suggest(q.args[0], names))
	}
	stale := func(read int64) {
		if !q.a.tellStances(hosts, stances) && at-read > int64(3*metric.Process.Interval()) {
			q.a.remark(fmt.Sprintf("the last reading of processes before that was at %s", q.a.Show(read)))
		}
	}
	q.order(list)
	if q.group != "" {
		return q.groups(list, stale)
	}
	depth := map[*query.Process]string{}
	if q.f.tree {
		list, depth = treeOrder(list)
	}
	total := len(list)
	if q.f.n > 0 && total > q.f.n {
		list = list[:q.f.n]
	}
	stale(list[0].At)
	err = q.a.present(func() error { return q.text(list, depth) }, func() error {
		q.attachThreads(at, list)
		return q.rows(list)
	})
	if err != nil {
		return err
	}
	if total > len(list) {
		q.a.remark(fmt.Sprintf("%d of %s", len(list), cli.Count(total, "process")))
	}
	return nil
}

// attachThreads adds the recorded threads to their processes.
func (q *psAnswer) attachThreads(at int64, list []*query.Process) {
	byKey := make(map[string]*query.Process)
	for _, p := range list {
		byKey[p.Archive.Host.ID+"/"+p.Instance.Key] = p
	}
	for _, t := range query.ThreadsAt(q.a.Archive, q.w, at, nil) {
		if p := byKey[t.Archive.Host.ID+"/"+t.Instance.Label("process")]; p != nil {
			p.Threads = append(p.Threads, t)
		}
	}
}

// rows writes processes for programs.
func (q *psAnswer) rows(list []*query.Process) error {
	w, err := q.a.rows(answer.ProcessColumns()...)
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := w.Row(processCells(p)); err != nil {
			return err
		}
	}
	return w.Close()
}

// text prints processes as a table; depth has the lines of a tree.
func (q *psAnswer) text(list []*query.Process, depth map[*query.Process]string) error {
	var columns []out.Column
	fields := answer.Used(answer.Processes, answer.InTable, list)
	for _, key := range q.f.more {
		fields = append(fields, answer.ByKey(answer.Processes, key))
	}
	for _, f := range fields {
		columns = append(columns, f.Column())
	}
	columns = append(columns, out.Column{Name: "name", Flex: true})
	commands := q.commands(list)
	if len(commands) > 0 {
		columns = append(columns, out.Column{Name: "command", Flex: true})
	}
	w, err := q.a.rows(columns...)
	if err != nil {
		return err
	}
	for _, p := range list {
		cells := []out.Cell{hostCell(&p.Archive.Host)}
		for _, f := range fields {
			cells = append(cells, answer.Text(f.Text(p)).If(f.Key == "state" && alarmingState(p.State)))
		}
		cells = append(cells, out.Str(depth[p]+p.Name))
		if len(commands) > 0 {
			cells = append(cells, answer.Text(commands[p]))
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	return w.Close()
}

// commandWidth is the least width of a terminal that has room for command lines.
const commandWidth = 110

// commands returns the command lines of processes at one moment, if the terminal has room for
// them. Where no arguments were recorded, it gives the program instead.
func (q *psAnswer) commands(list []*query.Process) map[*query.Process]string {
	if q.a.width < commandWidth {
		return nil
	}
	commands := make(map[*query.Process]string)
	type identity struct{ host, boot, key string }
	byKey, last := make(map[identity]*query.Process), make(map[string]int64)
	for _, p := range list {
		h := &p.Archive.Host
		byKey[identity{h.ID, p.Archive.BootID, p.Instance.Key}] = p
		last[h.ID] = max(last[h.ID], p.At)
		if exe := p.Instance.Label("exe"); exe != "" {
			commands[p] = exe
		}
	}
	for host, at := range last {
		tick, every := query.Tick(q.a.Archive, host, at)
		query.Commands(q.a.Archive, host, tick, every, func(info *store.ArchiveInfo, in *metric.Instance, line string) {
			if p := byKey[identity{host, info.BootID, in.Key}]; p != nil {
				commands[p] = line
			}
		})
	}
	return commands
}

// deepest is how many bytes the lines that draw a tree may take in a row.
const deepest = 256

// treeOrder puts children below their parents, keeping the order among
// siblings.
func treeOrder(list []*query.Process) ([]*query.Process, map[*query.Process]string) {
	byKey, byPID := make(map[string]*query.Process), make(map[int]*query.Process)
	for _, p := range list {
		byKey[p.Archive.Host.ID+"/"+p.Instance.Key] = p
		byPID[p.PID] = p
	}
	children := make(map[*query.Process][]*query.Process)
	var roots []*query.Process
	for _, p := range list {
		parent := byKey[p.Archive.Host.ID+"/"+p.Parent()]
		if parent == nil && p.Parent() == "" && p.PPID > 0 {
			parent = byPID[p.PPID]
		}
		if parent == nil || parent == p {
			roots = append(roots, p)
		} else {
			children[parent] = append(children[parent], p)
		}
	}
	var order []*query.Process
	prefix := make(map[*query.Process]string)
	seen := make(map[*query.Process]bool)
	var walk func(p *query.Process, lead, branch string)
	walk = func(p *query.Process, lead, branch string) {
		if seen[p] {
			return
		}
		seen[p] = true
		prefix[p] = branch
		order = append(order, p)
		under, beside := lead+"  ", lead+"│ "
		if len(lead) >= deepest {
			under, beside = lead, lead // No machine nests so deep, but a stranger's archive may.
		}
		kids := children[p]
		for i, k := range kids {
			if i == len(kids)-1 {
				walk(k, under, lead+"└ ")
			} else {
				walk(k, beside, lead+"├ ")
			}
		}
	}
	for _, r := range roots {
		walk(r, "", "")
	}
	for _, p := range list {
		walk(p, "", "") // Processes in a cycle, which wrong labels can make.
	}
	return order, prefix
}
