package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// deathsFlags are the flags of deaths.
type deathsFlags struct {
	all, explain bool
	n            int
}

func deathsCommand(a *app) *cobra.Command {
	f := &deathsFlags{}
	cmd := &cobra.Command{
		Use:   "deaths [PATTERN|PID...]",
		Short: "Who died of what, and what came before it",
		Long: `deaths lists the processes that did not end by themselves and well, the latest first:
those that crashed, those that the system killed for want of memory or at a limit, and
those of services, containers and apps that ended with an error. A death is one line,
whatever it is known from: the event of its end, a crash report, a core dump, a line of
the kernel, the log of systemd. The most telling words are shown. What ended again and
again, and failed, is one line: a crash loop.

Ends by a signal that somebody sent, and errors of other processes, are listed with
--all; so is each death in a crash loop.

A PATTERN is a name, a glob or /regexp/, or names an owner: service=nginx*. If it means one
death, or with --explain, deaths shows the minutes before: how the process grew, its
limit, what it did, what the machine was short of, and what was changed before.`,
		Example: `  replay deaths --from -1d
  replay deaths nginx --explain
  replay deaths service=shop* --all
  replay deaths 612 --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			if err := a.deaths(w, f, args); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.all, "all", false, "also ends by a signal that somebody sent, errors of other processes, and each death in a crash loop")
	fl.BoolVar(&f.explain, "explain", false, "the minutes before the latest of them")
	fl.IntVarP(&f.n, "number", "n", 50, "at most so many; 0 for all")
	return cmd
}

func (a *app) deaths(w query.Window, f *deathsFlags, args []string) error {
	m, err := query.NewMatcher(args)
	if err != nil {
		return err
	}
	if err := query.NoOwners(a.Archive, args); err != nil {
		return err
	}
	found := query.DeathsIn(a.Archive, w, f.all)
	found.Choose(m)
	if len(found.List) == 0 && !m.All() && !f.all {
		// A question about one process is also about how that process ended.
		found = query.DeathsIn(a.Archive, w, true)
		found.Choose(m)
	}
	if found.Missed {
		a.warn("more processes ended than were examined: what is shown is of the last part of the window")
	}
	if len(found.List) == 0 && !m.All() {
		return nothing("no death of %s in this window", strings.Join(args, ", "))
	}
	if f.explain && len(found.List) > 0 || a.table() && !m.All() && len(found.List) == 1 {
		if n := len(found.List); n > 1 {
			a.remark(fmt.Sprintf("the latest of %s (without --explain, replay deaths lists them)", cli.Count(n, "death")))
		}
		return (&deathStory{a: a, d: found.List[0]}).show()
	}
	list := found.List
	if f.n > 0 && len(list) > f.n {
		list = list[:f.n]
	}
	if err := a.deathRows(list); err != nil {
		return err
	}
	switch {
	case len(found.List) == 0 && found.Others == 0:
		a.remark("no process died in this window")
	case len(found.List) == 0:
		a.remark("no process died in this window of anything that means trouble")
	}
	if more := len(found.List) - len(list); more > 0 {
		a.remark(fmt.Sprintf("and %s before (-n 0 shows all)", cli.Count(more, "death")))
	}
	if found.Others > 0 {
		a.remark(fmt.Sprintf("not shown: %s that a signal ended or that ended with an error (--all)", cli.Count(found.Others, "process")))
	}
	return nil
}

// deathRows lists deaths.
func (a *app) deathRows(list []*query.Death) error {
	machine := func(name string) out.Column { return out.Column{Name: name, Only: out.InMachine} }
	rows, err := a.rows(out.Column{Name: "time", Width: timeWidth}, out.Column{Name: "pid", Right: true, Keep: 4}, out.Column{Name: "name", Keep: out.Always},
		out.Column{Name: "owner"}, out.Column{Name: "lived", Right: true, Keep: 2}, out.Column{Name: "version", Keep: 1}, out.Column{Name: "sources", Keep: 3},
		machine("kind"), out.Column{Name: "what"}, machine("signal"), out.Column{Name: "exception", Only: out.InMachine, Kind: out.Text}, machine("frames"), machine("count"), machine("key"),
		out.Column{Name: "first", Only: out.InJSON}, out.Column{Name: "command", Only: out.InJSON})
	if err != nil {
		return err
	}
	for _, d := range list {
		owner := ""
		if whose := d.Whose(); whose != (query.Whose{}) && (!a.table() || whose.Beside(d.Name()) != "") {
			owner = whose.Words(0)
		}
		first, more := d.At, append([]string{"deaths", d.Name(), "--explain"}, spanWords(d.At, d.At+1)...)
		pid, lived, count := out.Cell{}, out.Cell{}, out.Whole(1)
		if d.Loop != nil {
			count = out.Whole(int64(d.Loop.Count))
			first, more = d.Loop.First, append([]string{"deaths", d.Name(), "--all"}, spanWords(d.Loop.First, d.At+1)...)
		} else {
			if n := d.PID(); n > 0 {
				pid = out.Whole(int64(n))
			}
			if l := d.Lived(); l > 0 {
				lived = out.Number(l.Seconds()).As(human.Duration(l))
			}
		}
		err := rows.Row([]out.Cell{hostCell(&d.Archive.Host), out.At(d.At), pid, out.Str(d.Name()), answer.Text(owner), lived, answer.Text(d.Version()),
			out.Str(strings.Join(d.Sources(), ", ")), out.Str(d.Kind()), out.Str(d.What(human.Bytes)), answer.Text(d.Signal()), answer.Text(d.Exception()),
			answer.Text(strings.Join(d.Frames(), "; ")), count, answer.Text(d.Instance.Key),
			out.At(first), out.Str(a.moreCommand(d.Archive.Host.Name, more, false))})
		if err != nil {
			return err
		}
	}
	return rows.Close()
}
