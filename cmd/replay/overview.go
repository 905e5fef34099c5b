package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// longOverview is the longest window that an overview takes by itself: of a
// directory with a month of archives it shows the last day.
const longOverview = 24 * time.Hour

// overview is what replay shows when it is asked nothing in particular.
func (a *app) overview(cmd *cobra.Command, args []string) error {
	if err := a.load(args...); err != nil {
		return err
	}
	w, err := a.Window()
	if err != nil {
		return err
	}
	if a.From == "" && a.To == "" {
		if from, to, list := query.Covered(a.Archive, w); len(list) > 1 && to-from > int64(longOverview) {
			w.From = to - int64(longOverview)
			a.Resolved["from"] = a.In(w.From).Format(time.RFC3339Nano)
			a.Used = w
		}
	}
	q := &overviewAnswer{a, cmd, args, w}
	return a.present(q.text, q.rows)
}

// overviewAnswer sums up the hosts of a window, for the command line that asks for it.
type overviewAnswer struct {
	a    *app
	cmd  *cobra.Command
	args []string
	w    query.Window
}

// text prints the overview of each host.
func (q *overviewAnswer) text() error {
	first := true
	for _, h := range q.a.hostsOf(q.w) {
		o, err := query.OverviewOf(q.a.Archive, h.ID, q.w, q.a.sparkMost(), topByCPU)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		if !first {
			q.a.stdout.Println()
		}
		first = false
		q.host(o, q.a.footerLines(q.cmd, q.args))
	}
	q.a.finish(q.cmd, q.args, true)
	return nil
}

// host prints the overview of one host. On a terminal it takes the lines
// there are but for those of the footer: fewer processes where these are not
// enough, then only those that used most CPU, then fewer gauges.
func (q *overviewAnswer) host(o *query.Overview, footer int) {
	q.headline(o)
	q.breakLines(o)
	q.distrustLines(o.Distrusts)
	q.loopLines(o.Loops)
	left := q.a.linesLeft() - footer
	if q.a.ManyHosts() {
		left = math.MaxInt32 // Several hosts are no screenful.
	}
	if gauges := o.Gauges; len(gauges) > 0 {
		const least = 4 // of the processes that used most CPU, with their heading
		if left >= len(gauges)+least+2 {
			q.a.stdout.Println()
			left--
		}
		fit := gauges
		if most := max(left-least-1, 4); most < len(gauges) {
			fit = gauges[:most-1]
		}
		q.gaugeTable(fit)
		left -= len(fit) + 1
		if n := len(gauges) - len(fit); n > 0 {
			q.a.stdout.Println(human.Cut(fmt.Sprintf("… and %d more in a higher terminal", n), q.a.textWidth(80)))
			left--
		}
	}
	q.topLines(o, left)
}

func (q *overviewAnswer) headline(o *query.Overview) {
	q.a.headed(o.Host.Name, strings.Join(hostFacts(&o.Host), ", "), 0)
	var every []string
	var bytes int64
	for _, info := range o.Archives {
		bytes += info.Bytes
	}
	for _, c := range []metric.Class{metric.Fast, metric.Process, metric.Polled} {
		if iv := o.Archives[len(o.Archives)-1].Intervals[c]; iv > 0 && iv < metric.Once {
			every = append(every, fmt.Sprintf("%s every %s", c, human.Duration(time.Duration(iv))))
		}
	}
	archives := cli.Count(len(o.Archives), "archive")
	q.a.prose(fmt.Sprintf("%s to %s (%s)", q.a.Show(o.From), q.a.Show(o.To), human.Duration(time.Duration(o.To-o.From))))
	q.a.prose(strings.Join(append(nonEmpty(archives, sizeOf(bytes)), every...), ", "))
}

// hostFacts are the few things that tell machines apart.
func hostFacts(h *metric.Host) []string {
	facts := nonEmpty(h.Model, h.Label("product"), strings.TrimSpace(h.OS+" "+h.Release), h.Arch)
	if n, err := strconv.Atoi(h.Label("cpus")); err == nil {
		facts = append(facts, cli.Count(n, "cpu"))
	}
	if bytes, err := strconv.ParseFloat(h.Label("memory"), 64); err == nil {
		facts = append(facts, human.Bytes(bytes))
	}
	return facts
}

func sizeOf(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return human.Bytes(float64(bytes))
}

// breakLines says what interrupted the recording, and how close the last
// sample came to each break.
func (q *overviewAnswer) breakLines(o *query.Overview) {
	const most = 8
	for i, b := range o.Breaks {
		if i == most {
			q.a.prose("break  … and more: replay events shows all")
			break
		}
		line := fmt.Sprintf("break  %s  %s", q.a.Show(b.From), b.Kind)
		switch {
		case b.Length() <= 0:
		case b.Kind == metric.EventGap || b.Kind == metric.EventSleep:
			line += " of " + human.Duration(b.Length())
		default:
			line += " after " + human.Duration(b.Length()) + " without a sample"
		}
		if b.Text != "" {
			line += ": " + b.Text
		}
		if b.Last == 0 {
			if last := query.LastBefore(q.a.Archive, o.Host.ID, b.From); last != 0 {
				line += fmt.Sprintf(" (last sample %s before the break)", human.Duration(time.Duration(b.From-last)))
			}
		}
		q.a.prose(line)
	}
}

// loopLines says what was started again and again, only to fail.
func (q *overviewAnswer) loopLines(loops []*query.Runs) {
	const most = 3
	for i, r := range loops {
		if i == most {
			q.a.prose(fmt.Sprintf("crash loop  … and %d more: replay events shows all", len(loops)-most))
			break
		}
		q.a.prose(fmt.Sprintf("crash loop  %s  %s %s", q.a.Show(r.First), r.Name, r))
	}
}

// gaugeTable prints gauges with their mean, maximum and course.
func (q *overviewAnswer) gaugeTable(list []*query.Gauge) {
	rows := [][]string{{"", "MEAN", "MAX", "AT", "LAST", ""}}
	var charts []chartOf
	alarms := make(map[[2]int]bool)
	for i, g := range list {
		top := g.Max
		if g.Share {
			top = 1
		}
		if g.Of == g.Of {
			top = g.Of
		}
		title := gaugeTitle(g)
		value := func(x float64) string { return human.Value(x, g.Units, g.Rate()) }
		last := value(g.Last)
		if g.Of == g.Of {
			last += " of " + value(g.Of)
		}
		rows = append(rows, []string{title, value(g.Mean), value(g.Max),
			q.a.In(g.MaxAt).Format("15:04:05"), last, ""})
		alarms[[2]int{i + 1, 2}], alarms[[2]int{i + 1, 4}] = alarming(g, g.Max), alarming(g, g.Last)
		charts = append(charts, chartOf{g.Points, top})
	}
	q.a.course(rows, charts)
	q.a.alignMarked(rows, alarms, "lrrlrl", 5, 3, 1)
}

// gaugeTitle is a gauge's title, with what it is of.
func gaugeTitle(g *query.Gauge) string {
	if g.Instance == "" {
		return g.Title
	}
	return g.Title + " " + name(g.Instance)
}

// topByCPU and topByMemory are how many of those that used most are shown.
const topByCPU, topByMemory = 8, 5

// topLines prints the processes that used most CPU, and those with most
// memory, in the lines that are left.
func (q *overviewAnswer) topLines(o *query.Overview, left int) {
	byCPU, byMemory := topByCPU, topByMemory
	const heading = 2 // with the blank line above it
	if room := left - 2*heading; room >= 4 {
		byMemory = min(room*5/13, byMemory)
		byCPU = min(room-byMemory, byCPU)
	} else {
		byCPU, byMemory = max(left-heading, 2), 0
	}
	q.topTable(o, query.ByCPU, o.CPU, byCPU)
	q.topTable(o, query.ByMemory, o.Memory, byMemory)
}

func (q *overviewAnswer) topTable(o *query.Overview, by query.By, r *query.Ranking, most int) {
	if len(r.Consumers) == 0 || most == 0 {
		return
	}
	rows := [][]string{{"top by " + string(by)}}
	for _, heading := range answer.Headings(answer.Places, answer.InSummary) {
		rows[0] = append(rows[0], strings.ToUpper(heading))
	}
	rows[0][1] = "OF A CORE" // The machine's cpu, above, is of all of them.
	for _, c := range r.Consumers[:min(most, len(r.Consumers))] {
		place := &answer.Place{Consumer: c, Ranking: r, By: by}
		rows = append(rows, append([]string{name(c.Name + o.Belongings.Of(c.Name).Beside(c.Name))}, answer.Texts(answer.Places, answer.InSummary, place)...))
	}
	q.a.stdout.Println()
	q.a.align(rows, "l"+strings.Repeat("r", len(answer.InSummary)), 5, 4, 6, 2)
}

// name shortens a process's name for tables.
func name(s string) string {
	return human.Cut(s, 32)
}

// rows is the overview for programs.
func (q *overviewAnswer) rows() error {
	rows, err := q.a.rows(out.Column{Name: "name"}, out.Column{Name: "units"}, out.Column{Name: "count"}, out.Column{Name: "mean"},
		out.Column{Name: "max"}, out.Column{Name: "max_at"}, out.Column{Name: "last"}, out.Column{Name: "last_at"}, out.Column{Name: "of"})
	if err != nil {
		return err
	}
	for _, h := range q.a.hostsOf(q.w) {
		list, err := query.Gauges(q.a.Archive, query.Window{Hosts: []string{h.ID}, From: q.w.From, To: q.w.To}, 1)
		if err != nil {
			return err
		}
		for _, g := range list {
			err := rows.Row([]out.Cell{hostCell(&h), out.Str(g.Name), out.Str(g.Units.String()), out.Whole(int64(g.Count)), out.Number(g.Mean),
				out.Number(g.Max), out.At(g.MaxAt), out.Number(g.Last), out.At(g.LastAt), answer.Real(g.Of)})
			if err != nil {
				return err
			}
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	q.a.finish(q.cmd, q.args, false)
	return nil
}

// distrustLines prints in an overview which metrics are distrusted.
func (q *overviewAnswer) distrustLines(list []*query.Distrust) {
	const most = 4
	for i, d := range list {
		if i == most {
			q.a.prose("distrust  … and more: replay info shows all")
			break
		}
		q.a.alarming("distrust  " + q.a.doubt(d))
	}
}
