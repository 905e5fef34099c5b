package main

import (
	"fmt"
	"math"
	"strings"

	"tachograph/cmd/internal/plural"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/when"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	historyRows = 30 // rows of a table by default
	historyMost = 20 // processes, unless -n says otherwise
)

// history prints the lives of the processes that match.
func (a *app) history(w query.Window, m *query.Matcher, f *psFlags, args []string) error {
	if m.All() {
		return fmt.Errorf("the history of every process is too long: name some, or ask replay top who used most")
	}
	from, to, _ := query.Covered(a.archive, w)
	from = max(from, w.From)
	if w.To != 0 {
		to = min(to, w.To)
	}
	step := max(niceStep(to-from, historyRows), int64(metric.Process.Interval()))
	if f.step != "" {
		d, err := when.Duration(f.step)
		if err != nil || d <= 0 {
			return fmt.Errorf("--step %s is not a length of time (write 30s, 5m)", f.step)
		}
		step = int64(d)
	}
	most := f.n
	if most == 0 {
		most = historyMost
	}
	list, found, err := query.Histories(a.archive, w, m, step, a.zone(), most, !a.table())
	if err != nil {
		return err
	}
	if len(list) == 0 {
		names := query.InstanceNames(a.archive, w, &metric.Desc{Indom: "process"})
		for i, n := range names {
			names[i] = query.ProcessName(&metric.Instance{Name: n})
		}
		return fmt.Errorf("no process %s between %s and %s%s", strings.Join(args, ", "), a.show(from), a.show(to), query.Suggest(args[0], names))
	}
	if !a.table() {
		return a.historyRows(list, step)
	}
	for i, h := range list {
		if i > 0 {
			a.stdout.Println()
		}
		a.historyText(h)
	}
	if found > len(list) {
		a.stderr.Printf("%d of %s (-n shows more)\n", len(list), plural.Of(found, "process"))
	}
	return nil
}

func (a *app) historyRows(list []*query.History, step int64) error {
	w, err := a.rows(processColumns()...)
	if err != nil {
		return err
	}
	for _, h := range list {
		for i := range h.Rows {
			row := &h.Rows[i]
			p := h.Process
			p.At, p.Window, p.Rates, p.Levels = row.At, float64(step)/1e9, row.Rates, row.Levels
			if err := w.Row(processCells(&p)); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func (p *page) historyText(h *query.History) {
	title := fmt.Sprintf("%s  pid %d", h.Name, h.PID)
	if h.User != "" {
		title += ", " + h.User
	}
	p.stdout.Println(p.bold(title))
	if len(h.Names) > 1 {
		p.labelled("called   ", strings.Join(h.Names[1:], ", "))
	}
	if exe := h.Instance.Label("exe"); exe != "" {
		p.labelled("program  ", exe)
	}
	if h.Start != 0 {
		p.labelled("began    ", p.show(h.Start))
	} else {
		p.labelled("seen     ", "from "+p.show(h.From))
	}
	p.labelled("ended    ", p.endOf(h))
	if len(h.Ancestors) > 0 {
		p.labelled("parents  ", strings.Join(h.Ancestors, " ← "))
	}
	var cpu, mem []float64
	rows := [][]string{{"TIME", "CPU", "MEMORY", "READ", "WRITE", "POWER", "THREADS"}}
	for i := range h.Rows {
		r := &h.Rows[i]
		cpu, mem = append(cpu, r.CPU()), append(mem, r.Memory())
		rows = append(rows, []string{p.in(r.At).Format("2006-01-02 15:04:05"), percent(r.CPU()), bytesOf(r.Memory()),
			perSecond(r.Rates[query.ReadBytes]), perSecond(r.Rates[query.WrittenBytes]), watts(r.Rates[query.Energy]), plain(r.Levels[query.Threads])})
	}
	p.courseLine("cpu      ", cpu, percent(highest(cpu)))
	p.courseLine("memory   ", mem, bytesOf(h.Peak))
	p.labelled("in all   ", strings.Join(gainsOf(h.Gains), ", "))
	if len(h.Rows) > 0 {
		p.align(rows, "lrrrrrr", 6, 5, 4, 3)
	}
}

// courseLine draws what a process used, as far as the terminal reaches.
func (p *page) courseLine(label string, values []float64, most string) {
	text := label + human.Spark(values, highest(values)) + "  up to " + most
	if p.width > 0 {
		room := p.width - human.Width(text) + len(values)
		text = label + human.Cut(human.Spark(values, highest(values)), max(room, 1)) + "  up to " + most
	}
	p.stdout.Println(text)
}

// endOf says when and how a process ended.
func (p *page) endOf(h *query.History) string {
	switch {
	case h.Exit != nil:
		how := h.Exit.Label("how")
		if how == "" {
			how = "how is not known"
		}
		return fmt.Sprintf("%s: %s", p.show(h.Exit.At.Wall), how)
	case h.Ended:
		return fmt.Sprintf("after %s, how is not known", p.show(h.To))
	}
	return "not in this window"
}

// gainsOf lists what counters came to.
func gainsOf(g [query.NumProcessCounters]float64) []string {
	var out []string
	add := func(x float64, text string) {
		if !math.IsNaN(x) && x > 0 {
			out = append(out, text)
		}
	}
	cpu := g[query.UserTime] + g[query.SystemTime]
	add(cpu, human.Seconds(cpu)+" CPU")
	add(g[query.ReadBytes], human.Bytes(g[query.ReadBytes])+" read")
	add(g[query.WrittenBytes], human.Bytes(g[query.WrittenBytes])+" written")
	add(g[query.Energy], human.Figures(g[query.Energy])+" J")
	wake := g[query.InterruptWakeups]
	add(wake, human.Count(wake)+" wakeups")
	add(g[query.MajorFaults], human.Count(g[query.MajorFaults])+" faults from disk")
	if len(out) == 0 {
		out = append(out, "nothing")
	}
	return out
}

func highest(xs []float64) float64 {
	top := math.NaN()
	for _, x := range xs {
		if math.IsNaN(top) || x > top {
			top = x
		}
	}
	return top
}
