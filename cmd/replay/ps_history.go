package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	historyRows = 30 // rows of a table by default
	historyMost = 20 // processes, unless -n says otherwise

	coursePoints = 200 // points of a course at most, whatever the table's steps
	courseHeight = 3   // lines of a course, where the terminal has room for them and the rest
)

// history prints the lives of the processes that match.
func (q *psAnswer) history() error {
	if q.m.All() {
		return fmt.Errorf("the history of every process is too long: name some, or see with replay top which used most")
	}
	from, to, _ := query.Covered(q.a.Archive, q.w)
	from = max(from, q.w.From)
	if q.w.To != 0 {
		to = min(to, q.w.To)
	}
	step := max(niceStep(to-from, historyRows), int64(metric.Process.Interval()))
	if q.f.step != "" {
		d, err := when.Duration(q.f.step)
		if err != nil || d <= 0 {
			return fmt.Errorf("--step %s is not a length of time (write 30s, 5m)", q.f.step)
		}
		step = int64(d)
	}
	most := q.f.n
	if most == 0 {
		most = historyMost
	}
	find := func(step int64, all bool) ([]*query.History, int, error) {
		list, found, err := query.Histories(q.a.Archive, q.w, q.m, step, q.a.Zone(), most, all)
		if err == nil && len(list) == 0 {
			if err := query.NoOwners(q.a.Archive, q.args); err != nil {
				return nil, 0, err
			}
			err = nothing("no process %s between %s and %s%s", strings.Join(q.args, ", "), q.a.Show(from), q.a.Show(to),
				query.Suggest(q.args[0], processNames(q.a.Archive, q.w)))
		}
		return list, found, err
	}
	return q.a.present(func() error {
		list, found, err := find(step, false)
		if err != nil {
			return err
		}
		fine := list
		if least := max(niceStep(to-from, coursePoints), int64(metric.Process.Interval())); least < step {
			if fine, _, err = find(least, false); err != nil {
				return err
			}
		}
		for i, h := range list {
			if i > 0 {
				q.a.stdout.Println()
			}
			q.historyText(h, fine[i].Rows, len(list) == 1)
		}
		if found > len(list) {
			q.a.stderr.Printf("%d of %s (-n shows more)\n", len(list), cli.Count(found, "process"))
		}
		return nil
	}, func() error {
		list, _, err := find(step, true)
		if err != nil {
			return err
		}
		return q.historyRows(list, step)
	})
}

func (q *psAnswer) historyRows(list []*query.History, step int64) error {
	w, err := q.a.rows(answer.ProcessColumns()...)
	if err != nil {
		return err
	}
	for _, h := range list {
		for i := range h.Rows {
			if err := w.Row(processCells(processIn(h, i, step))); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// processIn returns the process of a history as it was in a step.
func processIn(h *query.History, i int, step int64) *query.Process {
	row, p := &h.Rows[i], h.Process
	p.At, p.Window, p.Rates, p.Levels = row.At, float64(step)/1e9, row.Rates, row.Levels
	return &p
}

func (q *psAnswer) historyText(h *query.History, fine []query.HistoryRow, alone bool) {
	who := fmt.Sprintf("  pid %d", h.PID)
	if h.User != "" {
		who += ", " + h.User
	}
	q.a.stdout.Println(q.a.bold(human.Cut(visible.Text(h.Name), max(q.a.textWidth(math.MaxInt32)-human.Width(who), 8)) + who))
	if len(h.Names) > 1 {
		q.a.labelled("called   ", strings.Join(h.Names[1:], ", "))
	}
	if exe := h.Instance.Label("exe"); exe != "" {
		q.a.labelled("program  ", exe)
	}
	if len(h.Owners) > 0 {
		q.a.labelled("owners   ", owners(h.Owners))
	}
	if h.Start != 0 {
		q.a.labelled("began    ", q.a.Show(h.Start))
	} else {
		q.a.labelled("seen     ", "from "+q.a.Show(h.From))
	}
	q.a.labelledAs("ended    ", q.endOf(h), h.Exit != nil && bySignal(h.Exit.Label("how")))
	if len(h.Ancestors) > 0 {
		q.a.labelled("parents  ", strings.Join(h.Ancestors, " ← "))
	}
	rows := [][]string{{"TIME"}}
	for _, heading := range answer.Headings(answer.Processes, answer.InLife) {
		rows[0] = append(rows[0], strings.ToUpper(heading))
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		at := q.a.In(r.At).Format("2006-01-02 15:04:05")
		if i > 0 && i < len(h.Rows)-1 && noValues(&h.Rows[i-1]) && noValues(r) && noValues(&h.Rows[i+1]) {
			continue // Of such a time, the first and the last row are enough.
		}
		if i > 0 && noValues(r) && noValues(&h.Rows[i-1]) {
			at = fmt.Sprintf("%19s", "until "+at[len("2006-01-02 "):])
		}
		rows = append(rows, append([]string{at}, answer.Texts(answer.Processes, answer.InLife, processIn(h, i, 0))...))
	}
	height := 1
	// Below the charts come the totals and the prompt.
	if alone && q.a.height > 0 && q.a.linesLeft() > len(rows)+2*courseHeight+2 {
		height = courseHeight
	}
	var cpu, mem []float64
	for i := range fine {
		cpu, mem = append(cpu, fine[i].CPU()), append(mem, fine[i].Memory())
	}
	mostCPU, mostMemory := "  up to "+answer.Share.Text(highest(cpu)), "  up to "+answer.Bytes.Text(h.Peak)
	room := historyRows
	if q.a.width > 0 {
		room = max(q.a.width-9-max(human.Width(mostCPU), human.Width(mostMemory)), 1)
	}
	q.courseLines("cpu      ", cpu, room, mostCPU, height)
	q.courseLines("memory   ", mem, room, mostMemory, height)
	q.a.labelled("in all   ", strings.Join(gainsOf(h.Gains), ", "))
	if len(h.Rows) > 0 {
		q.a.align(rows, "l"+strings.Repeat("r", len(answer.InLife)), 6, 5, 4, 3)
	}
}

// owners lists the owners that a process had.
func owners(list []query.Owned) string {
	var parts []string
	for _, o := range list {
		parts = append(parts, o.Kind+" "+strings.Join(o.Names, ", then "))
	}
	return strings.Join(parts, "; ")
}

// noValues reports whether nothing is known of a process in a step.
func noValues(r *query.HistoryRow) bool {
	known := func(x float64) bool { return x == x }
	return !slices.ContainsFunc(r.Rates[:], known) && !slices.ContainsFunc(r.Levels[:], known)
}

// courseLines draws what a process used, in room columns, between a label and the text behind.
func (q *psAnswer) courseLines(label string, values []float64, room int, behind string, height int) {
	for i, line := range human.Sparks(spread(values, room), highest(values), height) {
		if i > 0 {
			label, behind = strings.Repeat(" ", human.Width(label)), ""
		}
		q.a.stdout.Println(strings.TrimRight(label+line+behind, " "))
	}
}

// spread returns the values in at most room columns. Values that share a column give their
// highest. A value may fill several columns, at most 4, so that it is still clear which columns
// belong together.
func spread(values []float64, room int) []float64 {
	const widest = 4
	n := len(values)
	if n == 0 {
		return nil
	}
	columns := min(n*max(min(room/n, widest), 1), room)
	out := make([]float64, columns)
	for i := range out {
		from := i * n / columns
		out[i] = highest(values[from:max((i+1)*n/columns, from+1)])
	}
	return out
}

// endOf says when and how a process ended.
func (q *psAnswer) endOf(h *query.History) string {
	switch {
	case h.Exit != nil:
		how := h.Exit.Label("how")
		if how == "" {
			how = "how is not known"
		}
		return fmt.Sprintf("%s: %s", q.a.Show(h.Exit.At.Wall), how)
	case h.Ended:
		return fmt.Sprintf("after %s, how is not known", q.a.Show(h.To))
	}
	return "not in this window"
}

// gainsOf lists the totals of counters.
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
	add(wake, human.Count(wake)+" "+cli.Plural(int64(wake), "wakeup"))
	add(g[query.MajorFaults], human.Count(g[query.MajorFaults])+" "+cli.Plural(int64(g[query.MajorFaults]), "fault")+" from disk")
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

// niceStep returns a round step that divides a span into at most about so many rows.
func niceStep(span int64, rows int64) int64 {
	for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
		if span/int64(d) <= rows {
			return int64(d)
		}
	}
	return int64(7 * 24 * time.Hour)
}
