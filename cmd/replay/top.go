package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tachograph/store/query"
)

func topCommand(a *app) *cobra.Command {
	var by, group, interval string
	var n int
	var more []string
	var on followFlags
	cmd := &cobra.Command{
		Use:   "top [PATTERN|PID...]",
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

--group adds up the processes of the same name, user or parent, or of the same owner:
the same app, service (a unit of systemd, a job of launchd), container, pod or login
session. "owner" is of these the one that people mean: a container before the service
that it runs in. A process that was moved counts for its last owner; those that have no
such owner are one group. --by runs, which is meant for --group name, ranks by how many
processes began: programs that are started again and again.

top ranks all processes, or those that match: a PATTERN is a name, a glob or /regexp/,
or names an owner: app=Safari, unit=nginx*, container=web*, pod=, session=, owner=.

--by net ranks by the bytes received and sent; replay net says more about them.

--follow ranks anew with each reading of the processes, or every --interval, by
the use since the reading before, on the whole screen of a terminal (q ends it)
or as one table after the other. It begins with the last reading.`,
		Example: `  replay top --from 03:00 --to 03:10
  replay top --from -24h --by write --group name -n 10
  replay top --group name --by runs
  replay top --group app --by energy
  replay top unit=nginx* --from -24h
  replay top --follow --by write --interval 10s`,
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
			m, err := query.NewMatcher(args)
			if err != nil {
				return err
			}
			t := &topAnswer{a, query.By(by), query.Grouping(group), m, args, more}
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
			if t.group.OfOwners() || query.MeansOwners(args) {
				a.tellUnowned(w)
			}
			a.tellDoubtsOf(w, (*query.Distrust).OfProcesses)
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&by, "by", "cpu", "cpu, memory, read, write, energy, wakeups, faults, net or runs")
	fl.StringVar(&group, "group", "process", "process, name, user, parent, owner, app, service, container, pod or session")
	fl.StringSliceVar(&more, "columns", nil, columnsUsage)
	fl.IntVarP(&n, "number", "n", 20, "how many; 0 for all")
	on.register(cmd)
	fl.StringVar(&interval, "interval", "", "with --follow: how often, if not with each reading of the processes (10s, 1m)")
	return cmd
}
