package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/plural"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// around is how far before and after the moment at looks.
const around = 10 * time.Minute

func atCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "at TIME",
		Short: "Everything about one moment on one page",
		Long: `at shows the machine as it was: each of the vital numbers at the last sample
not after TIME, with its mean, maximum and course over the ten minutes before,
what happened within ten minutes, and the processes that used most of each
resource over the interval that ends there.`,
		Example: `  replay at 03:12:05
  replay at -5m --host web-1`,
		Args: needOne("a time, such as 03:12 or -5m"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.window()
			if err != nil {
				return err
			}
			at, err := a.moment(args[0], w)
			if err != nil {
				return err
			}
			a.used.From, a.used.To = at-int64(around), at+int64(around)
			if err := a.at(w, at); err != nil {
				return err
			}
			args = []string{a.resolved["at"]}
			delete(a.resolved, "at")
			a.finish(cmd, args, a.table())
			return nil
		},
	}
}

// resources are what processes are compared by, and how an amount is written.
var resources = []struct {
	name  string
	of    func(*query.Process) float64
	write func(float64) string
}{
	{"cpu", (*query.Process).CPU, percent},
	{"memory", (*query.Process).Memory, bytesOf},
	{"read", func(p *query.Process) float64 { return p.Rates[query.ReadBytes] }, perSecond},
	{"write", func(p *query.Process) float64 { return p.Rates[query.WrittenBytes] }, perSecond},
	{"energy", func(p *query.Process) float64 { return p.Rates[query.Energy] }, watts},
	{"wakeups", (*query.Process).Wakeups, func(x float64) string { return count(x) + " /s" }},
	{"faults", func(p *query.Process) float64 { return p.Rates[query.Faults] }, func(x float64) string { return count(x) + " /s" }},
}

func (a *app) at(w query.Window, at int64) error {
	var rows out.Writer
	if !a.table() {
		var err error
		if rows, err = a.rows(out.Column{Name: "section"}, out.Column{Name: "time"}, out.Column{Name: "name"},
			out.Column{Name: "pid"}, out.Column{Name: "value"}, out.Column{Name: "units"}, out.Column{Name: "text"}); err != nil {
			return err
		}
	}
	first := true
	for _, h := range a.archive.Hosts() {
		if !w.Wants(h.ID) {
			continue
		}
		one := query.Window{Hosts: []string{h.ID}, From: at - int64(around), To: at + int64(around)}
		if _, _, list := query.Covered(a.archive, one); len(list) == 0 {
			continue
		}
		var err error
		if rows != nil {
			err = a.atRows(rows, &h, one, at)
		} else {
			if !first {
				a.stdout.Println()
			}
			first = false
			err = a.atPage(&h, one, at)
		}
		if err != nil {
			return err
		}
	}
	if rows != nil {
		return rows.Close()
	}
	return nil
}

func (a *app) atPage(h *store.Host, w query.Window, at int64) error {
	a.stdout.Printf("%s  at %s\n", a.bold(h.Name), a.show(at))
	gauges, err := query.Gauges(a.archive, query.Window{Hosts: w.Hosts, From: w.From, To: at}, sparkPoints)
	if err != nil {
		return err
	}
	last, err := query.LastBefore(a.archive, h.ID, at)
	if err != nil {
		return err
	}
	pause, err := query.BreakAt(a.archive, h.ID, at)
	if err != nil {
		return err
	}
	if pause != nil {
		a.prose(fmt.Sprintf("%s from %s to %s (%s)", duringBreak(pause), a.show(pause.From), a.show(pause.To), human.Duration(pause.Length())))
	}
	switch gap := time.Duration(at - last); {
	case last == 0:
		a.stdout.Println("no sample before that")
	case gap > 30*time.Second:
		a.prose(fmt.Sprintf("the last sample before that is of %s, %s earlier", a.show(last), human.Duration(gap)))
	}
	// What is held from before the window is no sample.
	if len(gauges) > 0 && last >= w.From {
		a.stdout.Println()
		a.momentTable(gauges)
	}
	if err := a.atEvents(w, at); err != nil {
		return err
	}
	return a.atProcesses(w, at)
}

// duringBreak says in words what a moment in a break was like.
func duringBreak(b *query.Break) string {
	switch b.Kind {
	case metric.EventSleep, metric.EventWake:
		return "the machine was asleep"
	case metric.EventBoot, metric.EventShutdown, metric.EventPanic:
		return "the machine was down or starting, and nothing was recorded,"
	}
	return "nothing was recorded"
}

// momentTable prints gauges with their value at the moment first.
func (a *app) momentTable(list []*query.Gauge) {
	rows := [][]string{{"", "THEN", "MEAN", "MAX", "THE 10 MINUTES BEFORE"}}
	var charts []chartOf
	for _, g := range list {
		top := g.Max
		if g.Share {
			top = 1
		}
		value := func(x float64) string { return human.Value(x, g.Units, g.Rate()) }
		then := value(g.Last)
		if g.Of == g.Of {
			top = g.Of
			then += " of " + value(g.Of)
		}
		rows = append(rows, []string{gaugeTitle(g), then, value(g.Mean), value(g.Max), ""})
		charts = append(charts, chartOf{g.Points, top})
	}
	a.course(rows, charts)
	a.align(rows, "lrrrl", 4, 2)
}

func (a *app) atEvents(w query.Window, at int64) error {
	const most = 12
	everyday, shown := 0, 0
	for e, err := range query.SortedEvents(a.archive, w) {
		if err != nil {
			return err
		}
		if query.Everyday(e.Kind) {
			everyday++
			continue
		}
		if shown++; shown == 1 {
			a.stdout.Printf("\n%s\n", a.bold("events within 10 minutes"))
		}
		if shown <= most {
			a.labelled(fmt.Sprintf("%s  %8s  ", time.Unix(0, e.At.Wall).In(a.zone()).Format("15:04:05"), relative(e.At.Wall-at)), string(e.Kind)+": "+e.Text)
		}
	}
	if shown > most {
		a.stdout.Printf("… and %d more (replay events)\n", shown-most)
	}
	if everyday > 0 {
		a.stdout.Println()
		a.prose(plural.Of(everyday, "process") + " started or ended within 10 minutes")
	}
	return nil
}

// relative writes how long before or after something was.
func relative(d int64) string {
	switch by := time.Duration(d).Round(time.Second); {
	case by < 0:
		return "-" + human.Duration(-by)
	case by == 0:
		return "then"
	default:
		return "+" + human.Duration(by)
	}
}

func (a *app) atProcesses(w query.Window, at int64) error {
	list, err := query.Processes(a.archive, query.Window{Hosts: w.Hosts}, at, nil)
	if err != nil || len(list) == 0 {
		return err
	}
	title := "top of " + plural.Of(len(list), "process")
	if d := at - list[0].At; d > int64(time.Minute) {
		title += fmt.Sprintf(", read %s earlier", human.Duration(time.Duration(d)))
	}
	a.stdout.Printf("\n%s\n", a.bold(title))
	for _, r := range resources {
		top := topOf(list, r.of, 4)
		if len(top) == 0 {
			continue
		}
		var words []string
		for _, p := range top {
			words = append(words, fmt.Sprintf("%s (%d) %s", name(p.Name), p.PID, r.write(r.of(p))))
		}
		a.labelled(human.Pad(r.name, 9, false), strings.Join(words, ", "))
	}
	return nil
}

// topOf are the n processes with most of something, if they have any.
func topOf(list []*query.Process, of func(*query.Process) float64, n int) []*query.Process {
	var some []*query.Process
	for _, p := range list {
		if x := of(p); x > 0 && !math.IsNaN(x) {
			some = append(some, p)
		}
	}
	slices.SortStableFunc(some, func(x, y *query.Process) int { return cmp.Compare(of(y), of(x)) })
	return some[:min(n, len(some))]
}

// resourceUnits are the units of the resources' amounts for programs.
var resourceUnits = map[string]string{
	"cpu": "", "memory": "byte", "read": "byte / sec", "write": "byte / sec", "energy": "watt", "wakeups": "count / sec", "faults": "count / sec",
}

func (a *app) atRows(rows out.Writer, h *store.Host, w query.Window, at int64) error {
	host := hostCell(h)
	gauges, err := query.Gauges(a.archive, query.Window{Hosts: w.Hosts, From: w.From, To: at}, 1)
	if err != nil {
		return err
	}
	last, err := query.LastBefore(a.archive, h.ID, at)
	if err != nil {
		return err
	}
	for _, g := range gauges {
		if last < w.From {
			break // What is held from before the window is no sample.
		}
		if err := rows.Row([]out.Cell{host, out.Str("system"), out.At(g.LastAt), out.Str(g.Name), {}, out.Number(g.Last), out.Str(g.Units.String()), {}}); err != nil {
			return err
		}
	}
	for e, err := range query.SortedEvents(a.archive, w) {
		if err != nil {
			return err
		}
		if err := rows.Row([]out.Cell{host, out.Str("event"), out.At(e.At.Wall), out.Str(string(e.Kind)), {}, {}, {}, out.Str(e.Text)}); err != nil {
			return err
		}
	}
	list, err := query.Processes(a.archive, query.Window{Hosts: w.Hosts}, at, nil)
	if err != nil {
		return err
	}
	for _, r := range resources {
		for _, p := range topOf(list, r.of, 10) {
			if err := rows.Row([]out.Cell{host, out.Str("top " + r.name), out.At(p.At), out.Str(p.Name), out.Whole(int64(p.PID)),
				out.Number(r.of(p)), out.Str(resourceUnits[r.name]), {}}); err != nil {
				return err
			}
		}
	}
	return nil
}
