package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

func eventsCommand(a *app) *cobra.Command {
	var kinds []string
	var group bool
	var report string
	var on followFlags
	cmd := &cobra.Command{
		Use:   "events [ARCHIVE...]",
		Short: "What happened: boots, sleeps, gaps, processes, changes, errors",
		Long: `events lists what happened in the window, in order. --kind restricts to kinds
that match ("sleep", "process*"). Without it, starts and exits of processes are
left out of the table: there are too many; --kind 'process*' shows them. What
ended again and again, and failed, is one line: a crash loop.

--group adds up the exits of each name: how often, since when, how.

--follow goes on with what happens, as it is recorded; what was found out late
comes late. Crash loops are not looked for then.

--report prints the text of one report, if the recorder's configuration kept it
(keep_reports): NAME is its file, or what the label "text" of its event says. A
file or a pipe gets the text as it is.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := on.check(); err != nil {
				return err
			}
			if on.on {
				return followEvents(a, cmd, args, kinds, &on)
			}
			if err := a.load(args...); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			show := func() error { return a.events(w, kinds) }
			if report != "" {
				show = func() error { return a.eventReport(w, report) }
			}
			if group {
				show = func() error { return a.runs(w) }
			}
			if err := show(); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&kinds, "kind", nil, "only events of this kind: a name or a glob (repeatable)")
	cmd.Flags().BoolVar(&group, "group", false, "add up the exits of processes of each name")
	cmd.Flags().StringVar(&report, "report", "", "the text of the report of this `NAME`, if it was kept")
	on.register(cmd)
	cmd.MarkFlagsMutuallyExclusive("group", "kind")
	cmd.MarkFlagsMutuallyExclusive("group", "follow")
	for _, other := range []string{"group", "kind", "follow"} {
		cmd.MarkFlagsMutuallyExclusive("report", other)
	}
	return cmd
}

// runs lists how often processes of each name ended.
func (a *app) runs(w query.Window) error {
	list := query.AllRuns(a.Archive, w)
	right := func(name string, keep int) out.Column { return out.Column{Name: name, Right: true, Keep: keep} }
	rows, err := a.rows(out.Column{Name: "name", Flex: true}, right("runs", 9), right("failed", 8), out.Column{Name: "first", Keep: 5},
		out.Column{Name: "last", Keep: 7}, right("every", 6), out.Column{Name: "how"})
	if err != nil {
		return err
	}
	for _, r := range list {
		every := out.Cell{}
		if r.Every > 0 {
			every = out.Number(r.Every.Seconds()).As(human.Duration(r.Every))
		}
		var hows []string
		for _, h := range r.Hows {
			hows = append(hows, fmt.Sprintf("%s (%d)", h.Text, h.Count))
		}
		err := rows.Row([]out.Cell{hostCell(&r.Archive.Host), out.Str(r.Name), out.Whole(int64(r.Count)), out.Whole(int64(r.Failed)),
			out.At(r.First), out.At(r.Last), every, out.Str(strings.Join(hows, ", "))})
		if err != nil {
			return err
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if len(list) == 0 {
		a.complain("no process ended in this window")
	}
	return nil
}

func (a *app) events(w query.Window, patterns []string) error {
	wants, err := query.EventFilter(patterns)
	if err != nil {
		return err
	}
	rows, err := a.rows(eventColumns()...)
	if err != nil {
		return err
	}
	n, left := 0, 0
	seen := make(map[string]bool)
	var loops []*query.Runs
	brief := a.brief(patterns)
	if brief {
		loops = query.CrashLoops(a.Archive, w)
		slices.SortStableFunc(loops, func(x, y *query.Runs) int { return cmp.Compare(x.First, y.First) })
	}
	loopsUntil := func(at int64) error {
		for len(loops) > 0 && loops[0].First <= at {
			r := loops[0]
			loops = loops[1:]
			n++
			if err := rows.Row([]out.Cell{hostCell(&r.Archive.Host), out.At(r.First), out.Str("crash loop"),
				out.Str(r.Name + " " + r.String()), {}, {}, {}}); err != nil {
				return err
			}
		}
		return nil
	}
	for e := range query.SortedEvents(a.Archive, w) {
		if err := loopsUntil(e.At.Wall); err != nil {
			return err
		}
		seen[string(e.Kind)] = true
		if !wants(e.Kind) {
			continue
		}
		if brief && query.Everyday(e.Kind) {
			left++
			continue
		}
		if err := rows.Row(eventCells(e, query.EventText(a.Archive, e, human.Bytes))); err != nil {
			return err
		}
		n++
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if left > 0 {
		a.complain(fmt.Sprintf("not shown: %s of processes that started or ended (--kind 'process*')", cli.Count(left, "event")))
	}
	if n == 0 && left == 0 {
		if len(patterns) > 0 && len(seen) > 0 {
			var names []string
			for k := range seen {
				names = append(names, k)
			}
			slices.Sort(names)
			return nothing("no event of kind %s in this window; there are %s", strings.Join(patterns, ", "), strings.Join(names, ", "))
		}
		a.complain("no events in this window")
	}
	return nil
}
