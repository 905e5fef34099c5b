package browse

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/chart"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// lifeWindow shows one process from its start to its end.
type lifeWindow struct {
	text
	process string // its key
	life    *moment.Life
}

// life opens the window about the life of a process.
func (a *app) life(key string) {
	if a.engine == nil {
		return
	}
	e := a.engine
	a.long(askLife, "reading its life", func(context.Context) func() {
		l, err := e.Life(key)
		return func() {
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			w := &lifeWindow{process: key, life: l}
			w.text = text{
				title: fmt.Sprintf("%s  pid %d", l.Name, l.PID), choice: true, chosen: -1,
				keys:  "a start, o end, p pin, Enter",
				lines: func(a *app, width int) []line { return w.lines(a, width) },
				keyed: func(a *app, name string) bool { return w.keyed(a, name) },
			}
			a.put(w)
			a.moreOfLife(w)
		}
	})
}

// moreOfLife reads more of a life that is not completely known yet, as long as its window is
// shown.
func (a *app) moreOfLife(w *lifeWindow) {
	if shown, ok := a.overlayLife(); !w.life.Rough || !ok || shown != w {
		return
	}
	e := a.engine
	a.w.ask(askMore, "reading its life", func(context.Context) func() {
		l, err := e.Life(w.process)
		return func() {
			if err == nil {
				w.life = l
				a.moreOfLife(w)
			}
		}
	})
}

func (w *lifeWindow) keyed(a *app, name string) bool {
	switch name {
	case "a":
		a.jump(w.life.From)
	case "o":
		a.jump(w.life.To)
	default:
		return false
	}
	return true
}

// lines returns facts, courses, parents and children.
func (w *lifeWindow) lines(a *app, width int) []line {
	l, th := w.life, a.c.theme
	var out []line
	fact := func(name, value string) {
		for i, s := range human.Wrap(visible.Text(value), max(width-10, 10)) {
			if i > 0 {
				name = ""
			}
			out = append(out, line{spans: []span{{human.Pad(name, 10, false), th.faint}, {s, th.plain}}})
		}
	}
	if len(l.Names) > 1 {
		fact("called", strings.Join(l.Names, ", then "))
	}
	if l.Command != "" {
		fact("command", l.Command)
	}
	if l.User != "" {
		fact("user", l.User)
	}
	if l.Start != 0 {
		fact("began", a.clock(l.Start))
	} else {
		fact("seen", "from "+a.clock(l.From))
	}
	fact("ended", a.endOf(l))
	if totals := totalsText(l); totals != "" {
		fact("in all", totals)
	}
	for _, key := range append(slices.Clone(answer.InLife), "net_in", "net_out") {
		out = append(out, w.course(a, width, answer.ByKey(answer.Processes, key))...)
	}
	out = append(out, relatives(a, "parents", l.Parents, width)...)
	out = append(out, relatives(a, "children", l.Children, width)...)
	if l.More > 0 {
		out = append(out, said(fmt.Sprintf("  and %d more", l.More), th.faint))
	}
	return out
}

// endOf says when and how a process ended, as far as that is known.
func (a *app) endOf(l *moment.Life) string {
	switch {
	case l.Exit != nil:
		how := l.Exit.Label("how")
		if how == "" {
			how = "how is not known"
		}
		return a.clock(l.Exit.At.Wall) + ": " + how
	case l.Ended:
		return "after " + a.clock(l.To) + ", how is not known"
	}
	return "not in this recording"
}

// totalsText lists what a process used in total.
func totalsText(l *moment.Life) string {
	g := l.Gains
	var out []string
	add := func(x float64, text string) {
		if !math.IsNaN(x) && x > 0 {
			out = append(out, text)
		}
	}
	cpu := g[query.UserTime] + g[query.SystemTime]
	add(cpu, human.Seconds(cpu)+" CPU")
	add(l.Peak, "up to "+human.Bytes(l.Peak)+" memory")
	add(g[query.ReadBytes], human.Bytes(g[query.ReadBytes])+" read")
	add(g[query.WrittenBytes], human.Bytes(g[query.WrittenBytes])+" written")
	add(g[query.NetIn], human.Bytes(g[query.NetIn])+" received")
	add(g[query.NetOut], human.Bytes(g[query.NetOut])+" sent")
	add(g[query.Energy], human.Figures(g[query.Energy])+" J")
	return strings.Join(out, ", ")
}

// scales are the units of the courses of a life that are charts where there is room; the others
// are lines.
var scales = map[string]struct {
	units metric.Units
	rate  bool
}{"cpu": {metric.NoUnits, true}, "memory": {metric.Bytes, false}}

// course draws one course of a life: the big ones as a chart, others as a line.
func (w *lifeWindow) course(a *app, width int, c *column) []line {
	l, th := w.life, a.c.theme
	if len(l.Rows) < 2 {
		return nil
	}
	from, to := l.Rows[0].At, l.Rows[len(l.Rows)-1].At
	top, all := math.NaN(), make([]float64, len(l.Rows))
	for i := range l.Rows {
		all[i] = c.Of(&query.Process{Rates: l.Rows[i].Rates, Levels: l.Rows[i].Levels})
		if !math.IsNaN(all[i]) && !(top >= all[i]) {
			top = all[i]
		}
	}
	points := func(n int) []float64 {
		out := blank(n)
		for i, v := range all {
			k := int(float64(l.Rows[i].At-from) / float64(to-from) * float64(n-1))
			if !math.IsNaN(v) && !(out[k] >= v) {
				out[k] = v
			}
		}
		return joined(out, n, len(l.Rows))
	}
	if math.IsNaN(top) || top == 0 {
		return nil
	}
	var out []line
	scale, big := scales[c.Key]
	if !big || a.height < 30 {
		room := max(width-10-24, 8)
		text := human.Pad(human.Spark(points(room), top), room, false)
		return append(out, line{spans: []span{{human.Pad(c.Heading(), 10, false), th.faint}, {text, th.plain}, {"  up to " + c.Unit.Text(top), th.faint}}})
	}
	const height, room = 4, 10 // room is how many letters each time gets
	values := points(chart.Points(max(width-20, 10)))
	low, high := chart.Scale(values)
	picture := chart.Chart{Values: values, Height: height, From: from, To: to, Axis: chart.Values(low, high, scale.units, scale.rate, chart.Spaces(height))}
	picture.Width = max(width-10-picture.Axis.Margin(), 10)
	picture.Times = chart.Times(from, to, a.Zone, max(picture.Width/room, 1))
	out = append(out, said(c.Heading(), th.head))
	for i, s := range picture.Lines() {
		style := th.plain
		if i > height {
			style = th.faint
		}
		out = append(out, said(s, style))
	}
	return out
}

// joined fills the columns between values that are more than a column apart.
func joined(out []float64, n, rows int) []float64 {
	most := n/max(rows, 1) + 2
	last := -1
	for i, v := range out {
		if math.IsNaN(v) {
			continue
		}
		if last >= 0 && i-last <= most {
			for k := last + 1; k < i; k++ {
				out[k] = out[last]
			}
		}
		last = i
	}
	return out
}

// relatives lists processes whose lives the user can open.
func relatives(a *app, title string, list []moment.Relative, width int) []line {
	if len(list) == 0 {
		return nil
	}
	th := a.c.theme
	out := []line{said(fmt.Sprintf("%s (%d)", title, len(list)), th.head)}
	for _, r := range list {
		key := r.Key
		text := fmt.Sprintf("  %-8d %s", r.PID, visible.Text(r.Name))
		lived := a.clockBeside(r.From) + ", " + human.Duration(time.Duration(r.To-r.From))
		room := max(width-human.Width(lived)-2, 10)
		out = append(out, line{
			spans: []span{{human.Pad(human.Cut(text, room), room, false), th.plain}, {"  " + lived, th.faint}},
			does:  func(a *app) { a.life(key) },
			at:    r.From,
		})
	}
	return out
}

// compare shows what differs between the two marked moments.
func (a *app) compare() {
	if len(a.marks) < 2 {
		return
	}
	e, from, to := a.engine, min(a.marks[0], a.marks[1]), max(a.marks[0], a.marks[1])
	a.long(askDiff, "comparing the two moments", func(context.Context) func() {
		changes, err := e.Diff(from, to)
		return func() {
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			a.put(a.diffWindow(from, to, changes))
		}
	})
}

// diffWindow shows changes, most surprising first; Enter goes to the time of a change.
func (a *app) diffWindow(from, to int64, changes []*query.Change) *text {
	t := &text{title: "what differs from " + a.clockBeside(from) + " to " + a.clockBeside(to), choice: true, chosen: -1, keys: "Enter goes to it"}
	t.lines = func(a *app, width int) []line {
		if len(changes) == 0 {
			return []line{said("nothing differs by more than is usual", a.c.theme.plain)}
		}
		var out []line
		for i, c := range changes {
			lines := wrapped(fmt.Sprintf("%d. %s", i+1, a.Sentence(c)), width, a.c.theme.plain)
			at := c.At
			if at == 0 {
				at = to
			}
			lines[0].does = func(a *app) {
				a.overlays = slices.DeleteFunc(a.overlays, func(o overlay) bool { return o == overlay(t) })
				a.jump(at)
			}
			lines[0].at = at
			out = append(out, lines...)
		}
		return append(out, said(cli.Count(len(changes), "difference"), a.c.theme.faint))
	}
	return t
}
