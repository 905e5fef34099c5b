package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func diffCommand(a *app) *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff A..B C..D | diff [A..B] --against DAY|HOST | diff --across-update [PACKAGE|SETTING]",
		Short: "What changed between two windows, most surprising first",
		Long: `diff compares two windows of one host: the metrics of the machine, what the
processes used, which are new and which are gone, and settings that were
changed; and where stacks were sampled in both, the functions in which threads spent
more or less of their time. A difference counts if it is large beside the variation of
the series itself, in both windows and in the rest of the recording. Differences that
take a larger part of the machine come first. diff shows a metric's mean over the whole
window. It judges how much the metric varies by ten parts of the window, which in long
windows end where the archive's chunks do.

A program is new if no process of its name ran before. It is gone if it ran most of the
time and has been away for much longer than ever before. If two windows are alike, diff
says that nothing changed and shows the largest difference.

A process is named with its app, service or container where these say more than its name.
A service of which all processes were replaced is one that restarted. --group owner
compares whole apps, services and containers instead of programs.

Differences with one cause share a line: metrics that move together, a process and
what it did to the machine, events of a kind. --all shows each.

Instead of two windows, --before 10m --at T compares the ten minutes before T
with the ten minutes after it (or --after as long); at the end of the
recording, the last ten minutes with the ten before.

--against compares a window with the same hours of another day (yesterday, monday,
"last week": the same day a week before), or with another host. Without a window it
compares the whole recording, or for another day as much of the last day as was
recorded.

--across-update compares the time before the last update of software or of the system
in the window, or of the named package or setting (vm.swappiness), with as much time after
it: an hour, or as long as --before says, or as much as was recorded.`,
		Example: `  replay diff 03:00..03:10 03:10..03:20
  replay diff --before 10m --at 03:12
  replay diff 03:00..04:00 --against yesterday
  replay diff 03:00..04:00 --against "last week"
  replay diff --archive fleet/ --against build-7
  replay diff --across-update nginx`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := choice("group", query.Grouping(f.group), diffGroups); err != nil {
				return err
			}
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			c, err := (&diffQuestion{&a.session, w, f, args}).comparison()
			if err != nil {
				return err
			}
			q := &diffAnswer{a: a, w: w, c: c, f: f}
			if err := a.present(q.text, q.rows); err != nil {
				return err
			}
			q.doubts()
			a.Used.From, a.Used.To = min(c.a.From, c.b.From), max(c.a.To, c.b.To)
			absolute := []string{spanText(a.clock, c.a), spanText(a.clock, c.b)}
			if f.against != "" {
				absolute = absolute[1:]
			}
			delete(a.Resolved, "at")
			a.finish(cmd, absolute, true)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.before, "before", "", "length of the window before --at")
	fl.StringVar(&f.after, "after", "", "length of the window after --at (default: as --before)")
	fl.StringVar(&f.at, "at", "", "the instant between the windows (default: the end of the recording)")
	fl.StringVar(&f.against, "against", "", "compare with the same hours of another `DAY`, or with another host")
	fl.BoolVar(&f.acrossUpdate, "across-update", false, "compare the time before and after the last update, or that of a package or a setting")
	cmd.MarkFlagsMutuallyExclusive("across-update", "against")
	fl.StringVar(&f.group, "group", "name", "compare processes by name, owner, app, service, container, pod or session")
	fl.BoolVar(&f.all, "all", false, "every difference, also those that share a line with another")
	fl.IntVarP(&f.n, "number", "n", 30, "at most so many lines; 0 for all")
	return cmd
}

// diffGroups are the groups of processes that diff compares.
var diffGroups = []query.Grouping{query.PerName, query.PerOwner, query.PerApp, query.PerService, query.PerContainer, query.PerPod, query.PerSession}

// each calls fn with each host that was compared and as many of its changes as are wanted.
func (q *diffAnswer) each(fn func(h *metric.Host, found *query.Differences, changes []*query.Change) error) error {
	for _, h := range q.a.hostsOf(q.w) {
		one := query.Window{Hosts: []string{h.ID}, From: q.c.b.From, To: q.c.b.To}
		if _, _, list := query.Covered(q.a.Archive, one); h.ID == q.c.against || q.c.only != "" && h.ID != q.c.only || len(list) == 0 {
			continue
		}
		found, err := query.Compare(q.a.Archive, query.DiffRequest{Host: h.ID, A: q.c.a, B: q.c.b, Against: q.c.against, Usual: q.c.usual, Group: query.Grouping(q.f.group), All: q.f.all})
		if err != nil {
			return err
		}
		changes := found.Changes
		if q.f.n > 0 && len(changes) > q.f.n {
			changes = changes[:q.f.n]
		}
		q.shown = append(q.shown, changes...)
		for _, change := range changes {
			if e := change.Event; e != nil && query.Killing(e) && query.OwnersRecorded(q.a.Archive) {
				change.NewText = query.EventText(q.a.Archive, e, human.Bytes)
			}
		}
		if err := fn(&h, found, changes); err != nil {
			return err
		}
	}
	return nil
}

func (q *diffAnswer) text() error {
	return q.each(func(h *metric.Host, found *query.Differences, changes []*query.Change) error {
		q.page(h, changes, len(found.Changes), found.Largest)
		q.stacksText(h)
		return nil
	})
}

func (q *diffAnswer) rows() error {
	rows, err := q.a.rows(out.Column{Name: "kind"}, out.Column{Name: "subject"}, out.Column{Name: "instance"}, out.Column{Name: "aspect"},
		out.Column{Name: "before"}, out.Column{Name: "after"}, out.Column{Name: "units"}, out.Column{Name: "time"},
		out.Column{Name: "effect"}, out.Column{Name: "impact"}, out.Column{Name: "score"}, out.Column{Name: "related"}, out.Column{Name: "text"},
		out.Column{Name: "metric", Only: out.InJSON}, out.Column{Name: "before_from", Only: out.InJSON}, out.Column{Name: "before_to", Only: out.InJSON},
		out.Column{Name: "from", Only: out.InJSON}, out.Column{Name: "to", Only: out.InJSON}, out.Column{Name: "command", Only: out.InJSON})
	if err != nil {
		return err
	}
	err = q.each(func(h *metric.Host, _ *query.Differences, changes []*query.Change) error {
		for _, change := range changes {
			for _, one := range append([]*query.Change{change}, change.Also...) {
				if err := rows.Row(append(changeCells(h, one, q.sides(h)), q.checkCells(h, one)...)); err != nil {
					return err
				}
			}
		}
		return q.stackRows(rows, h)
	})
	if err != nil {
		return err
	}
	return rows.Close()
}

// doubts prints the distrusts of what was shown.
func (q *diffAnswer) doubts() {
	q.a.tellDoubtsOf(query.Window{Hosts: q.w.Hosts, From: q.c.a.From, To: q.c.b.To}, func(d *query.Distrust) bool {
		return slices.ContainsFunc(q.shown, func(change *query.Change) bool {
			return change.Metric != nil && d.About(change.Metric.Name) || change.Process != nil && d.OfProcesses()
		})
	})
}

func (q *diffAnswer) page(h *metric.Host, changes []*query.Change, total int, largest *query.Change) {
	clock := func(w query.Window) string {
		from, to := q.a.In(w.From), q.a.In(w.To)
		if from.Format(time.DateOnly) != to.Format(time.DateOnly) {
			return q.a.Show(w.From) + " to " + to.Format(time.DateTime)
		}
		return q.a.Show(w.From) + " to " + to.Format(time.TimeOnly)
	}
	if q.c.against != "" {
		q.a.prose(fmt.Sprintf("%s: %s, against %s: %s", h.Name, clock(q.c.b), q.c.name, clock(q.c.a)))
	} else {
		q.a.headed(h.Name, fmt.Sprintf("before: %s, after: %s", clock(q.c.a), clock(q.c.b)), 0)
	}
	if q.c.since != "" {
		q.a.prose("since " + q.c.since)
	}
	if len(changes) == 0 {
		q.a.prose("nothing changed that is out of the ordinary" + q.largest(largest, q.sides(h)))
		return
	}
	width := q.a.textWidth(100)
	for i, change := range changes {
		for k, line := range human.Wrap(sentence(change, q.sides(h)), width-4) {
			if k == 0 {
				q.a.stdout.Printf("%2d. %s\n", i+1, line)
			} else {
				q.a.stdout.Printf("    %s\n", line)
			}
		}
	}
	if total > len(changes) {
		q.a.stdout.Printf("and %s (-n 0 shows all)\n", cli.Count(total-len(changes), "smaller change"))
	}
}

// largest names the largest difference, for a comparison in which nothing is out of the
// ordinary.
func (q *diffAnswer) largest(c *query.Change, s sides) string {
	if c == nil {
		return ""
	}
	return "; the largest difference: " + lowerFirst(clause(c, s))
}

// checkCells say how to check a change: the metric that it is of, the windows that were compared, and
// the command that shows the later one.
func (q *diffAnswer) checkCells(h *metric.Host, c *query.Change) []out.Cell {
	name, command := "", ""
	span := spanWords(q.c.b.From, q.c.b.To)
	var more []string
	switch {
	case c.Metric != nil:
		if name = c.Metric.Name; c.At == 0 { // Else it is a setting, which is read seldom.
			more = q.a.rangeWords([]string{name}, c.Instance, q.c.b.From, q.c.b.To)
		}
	case c.Process != nil:
		more = append([]string{"ps", c.Process.Name}, span...)
	case c.Event != nil:
		more = append([]string{"events", "--kind", string(c.Event.Kind)}, span...)
	}
	if more != nil {
		command = q.a.moreCommand(h.Name, more, false)
	}
	return append(append([]out.Cell{answer.Text(name)}, q.windowCells()...), answer.Text(command))
}

func changeCells(h *metric.Host, c *query.Change, s sides) []out.Cell {
	before, after := answer.Real(c.Before), answer.Real(c.After)
	if c.OldText != "" && math.IsNaN(c.Before) {
		before, after = out.Str(c.OldText), out.Str(c.NewText)
	}
	at := out.Cell{}
	if c.At != 0 {
		at = out.At(c.At)
	}
	units := c.Units.String()
	return []out.Cell{hostCell(h), out.Str(string(c.Kind)), out.Str(c.Subject), out.Str(c.Instance), answer.Text(c.Aspect), before, after,
		out.Str(units), at, out.Number(c.Effect), out.Number(c.Impact), out.Number(c.Score), out.Whole(int64(c.Related)), out.Str(clause(c, s))}
}
