package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

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
			w, err := a.Window()
			if err != nil {
				return err
			}
			at, err := a.moment(args[0], w)
			if err != nil {
				return err
			}
			a.Used.From, a.Used.To = at-int64(around), at+int64(around)
			q := &atAnswer{a, w, at}
			if err := a.present(q.text, q.rows); err != nil {
				return err
			}
			a.tellDoubtsOf(w, func(d *query.Distrust) bool { return d.Holds(at) })
			args = []string{a.Resolved["at"]}
			delete(a.Resolved, "at")
			a.finish(cmd, args, true)
			return nil
		},
	}
}

// amounts are the quantities that processes are ranked by, each with its units for programs and
// its text for people.
var amounts = []struct {
	by    query.By
	units string
	write func(float64) string
}{
	{query.ByCPU, "", answer.Share.Text},
	{query.ByMemory, "byte", answer.Bytes.Text},
	{query.ByRead, "byte / sec", answer.Speed.Text},
	{query.ByWrite, "byte / sec", answer.Speed.Text},
	{query.ByEnergy, "watt", answer.Watts.Text},
	{query.ByWakeups, "count / sec", func(x float64) string { return answer.Count.Text(x) + " /s" }},
	{query.ByFaults, "count / sec", func(x float64) string { return answer.Count.Text(x) + " /s" }},
}

// atAnswer shows the hosts of a window at a moment.
type atAnswer struct {
	a  *app
	w  query.Window
	at int64
}

// each calls fn with each host that has anything to show, its courses in so many points.
func (q *atAnswer) each(points int, fn func(*query.Moment) error) error {
	for _, h := range q.a.hostsOf(q.w) {
		m, err := query.MomentAt(q.a.Archive, h, q.at, around, points)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		if err := fn(m); err != nil {
			return err
		}
	}
	return nil
}

func (q *atAnswer) text() error {
	shown := 0
	return q.each(q.a.sparkMost(), func(m *query.Moment) error {
		if shown++; shown > 1 {
			q.a.stdout.Println()
		}
		q.page(m)
		q.stackText(&m.Host)
		return nil
	})
}

func (q *atAnswer) rows() error {
	rows, err := q.a.rows(out.Column{Name: "section"}, out.Column{Name: "time"}, out.Column{Name: "name"},
		out.Column{Name: "pid"}, out.Column{Name: "value"}, out.Column{Name: "units"}, out.Column{Name: "text"})
	if err != nil {
		return err
	}
	err = q.each(1, func(m *query.Moment) error {
		if err := atRows(rows, m); err != nil {
			return err
		}
		return q.stackRow(rows, &m.Host)
	})
	if err != nil {
		return err
	}
	return rows.Close()
}

func (q *atAnswer) page(m *query.Moment) {
	q.a.headed(m.Host.Name, "at "+q.a.Show(m.At), 0)
	if stance := moment.Sentence(&m.Stance, q.a.Zone()); stance != "" {
		q.a.prose(stance)
	}
	if len(m.Gauges) > 0 {
		q.a.stdout.Println()
		q.gauges(m)
	}
	q.events(m)
	q.processes(m)
}

// gauges prints gauges with their value at the moment first.
func (q *atAnswer) gauges(m *query.Moment) {
	rows := [][]string{{"", "THEN", "MEAN", "MAX", "THE 10 MINUTES BEFORE"}}
	if m.State != query.Running {
		rows[0][1], rows[0][4] = "LAST", "THE LAST 10 MINUTES"
	}
	var charts []chartOf
	alarms := make(map[[2]int]bool)
	for i, g := range m.Gauges {
		alarms[[2]int{i + 1, 1}], alarms[[2]int{i + 1, 3}] = alarming(g, g.Last), alarming(g, g.Max)
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
	q.a.course(rows, charts)
	q.a.alignMarked(rows, alarms, "lrrrl", 4, 2)
}

func (q *atAnswer) events(m *query.Moment) {
	const most = 12
	everyday, shown := 0, 0
	for _, e := range m.Events {
		if query.Everyday(e.Kind) {
			everyday++
			continue
		}
		if shown++; shown == 1 {
			q.a.stdout.Printf("\n%s\n", q.a.bold("events within 10 minutes"))
		}
		if shown <= most {
			q.a.labelled(fmt.Sprintf("%s  %8s  ", q.a.In(e.At.Wall).Format("15:04:05"), relative(e.At.Wall-m.At)), string(e.Kind)+": "+e.Text)
		}
	}
	if shown > most {
		q.a.stdout.Printf("… and %d more (replay events)\n", shown-most)
	}
	if everyday > 0 {
		q.a.stdout.Println()
		q.a.prose(cli.Count(everyday, "process") + " started or ended within 10 minutes")
	}
}

// relative writes how long before or after the moment an event was.
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

func (q *atAnswer) processes(m *query.Moment) {
	if len(m.Processes) == 0 {
		return
	}
	title := "top of " + cli.Count(len(m.Processes), "process")
	if d := m.At - m.Processes[0].At; d > int64(time.Minute) {
		title += fmt.Sprintf(", read %s earlier", human.Duration(time.Duration(d)))
	}
	q.a.stdout.Printf("\n%s\n", q.a.bold(title))
	for _, of := range amounts {
		var words []string
		for i, one := range m.Top(of.by, 4) {
			text := fmt.Sprintf("%s (%d) %s", name(one.Name), one.PID, of.write(one.Amount(of.by)))
			if i == 0 && of.by == query.ByCPU {
				text += " of a core"
			}
			words = append(words, text)
		}
		if len(words) > 0 {
			q.a.labelled(human.Pad(string(of.by), 9, false), strings.Join(words, ", "))
		}
	}
}

// atRows writes the moment as rows, for programs.
func atRows(rows out.Writer, m *query.Moment) error {
	host := hostCell(&m.Host)
	for _, g := range m.Gauges {
		if err := rows.Row([]out.Cell{host, out.Str("system"), out.At(g.LastAt), out.Str(g.Name), {}, out.Number(g.Last), out.Str(g.Units.String()), {}}); err != nil {
			return err
		}
	}
	for _, e := range m.Events {
		if err := rows.Row([]out.Cell{host, out.Str("event"), out.At(e.At.Wall), out.Str(string(e.Kind)), {}, {}, {}, out.Str(e.Text)}); err != nil {
			return err
		}
	}
	for _, of := range amounts {
		for _, p := range m.Top(of.by, 10) {
			if err := rows.Row([]out.Cell{host, out.Str("top " + string(of.by)), out.At(p.At), out.Str(p.Name), out.Whole(int64(p.PID)),
				out.Number(p.Amount(of.by)), out.Str(of.units), {}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// hottest returns the stack that was sampled most around the moment, if any was.
func (q *atAnswer) hottest(h *metric.Host) (p *stacks.Profile, hot stacks.Heaviest, ok bool) {
	w, ok := stacks.Near(q.a.Archive, h.ID, q.at, around)
	if !ok {
		return nil, hot, false
	}
	p = stacks.Read(q.a.Archive, stacks.Request{Window: w})
	hot, ok = p.Heaviest()
	return p, hot, ok
}

// stackText names that stack, with the command that shows all of them.
func (q *atAnswer) stackText(h *metric.Host) {
	p, hot, ok := q.hottest(h)
	if !ok {
		return
	}
	q.a.stdout.Printf("\n%s\n", q.a.bold("hottest stack, sampled at "+q.a.TimeOfDay(p.From)))
	q.a.prose(hot.Sentence())
	q.a.stdout.Println("    " + q.a.moreCommand(h.Name, append([]string{"stacks", hot.Name()}, spanWords(p.From, p.To)...), true))
}

func (q *atAnswer) stackRow(rows out.Writer, h *metric.Host) error {
	p, hot, ok := q.hottest(h)
	if !ok {
		return nil
	}
	return rows.Row([]out.Cell{hostCell(h), out.Str("hottest stack"), out.At(p.To), out.Str(hot.Thread.Command), out.Whole(int64(hot.Thread.PID)),
		out.Number(hot.Share()), {}, out.Str(hot.Folded())})
}
