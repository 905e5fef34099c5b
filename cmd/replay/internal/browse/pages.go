package browse

import (
	"math"
	"strings"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/sample/metric"
)

// page is a view of a moment.
type page int

const (
	pageSystem page = iota
	pageProcesses
	pageDisks
	pageNetwork
	pageSensors
	pageEvents
	pages
)

var pageTitles = [pages]string{"system", "processes", "disks", "network", "sensors", "events"}

// list is how far a page is scrolled, and the choice on it.
type list struct {
	top    int
	chosen string // of processes, and of those who used the network, the key
	line   int    // of events
}

// lines returns a page as lines of a width.
func (a *app) lines(p page, width int) []line {
	m := a.shownMoment
	if m == nil {
		return nil
	}
	switch p {
	case pageSystem:
		return a.systemLines(m, width)
	case pageDisks:
		return append(a.rowLines("disk", m.Disks, width, "no disk was recorded"), append([]line{{}}, a.rowLines("volume", m.Volumes, width, "no volume was recorded")...)...)
	case pageNetwork:
		out := append(a.rowLines("interface", m.Interfaces, width, "no interface was recorded"), append([]line{{}}, a.sectionLines(m, "network", width)...)...)
		if a.page == pageNetwork {
			out = append(out, a.userLines(width)...)
		}
		return out
	case pageSensors:
		return a.sensorLines(m, width)
	case pageEvents:
		return a.eventLines(m, width)
	}
	return nil
}

// headWidth returns the width of the titles of sections.
func headWidth(width int) int { return min(max(width/6, 10), 16) }

// systemLines returns the figures of the whole machine, and its processors.
func (a *app) systemLines(m *moment.Moment, width int) []line {
	var out []line
	for i := range m.Sections {
		out = append(out, a.sectionOf(&m.Sections[i], width)...)
	}
	out = append(out, a.coreLines(m.Cores, width)...)
	return append(out, a.absences(m, width)...)
}

func (a *app) sectionLines(m *moment.Moment, name string, width int) []line {
	for i := range m.Sections {
		if m.Sections[i].Name == name {
			return a.sectionOf(&m.Sections[i], width)
		}
	}
	return nil
}

// figureText writes the value of a figure.
func figureText(f *moment.Figure) string {
	switch {
	case f.Text != "":
		return f.Text
	case !f.Known():
		return "-"
	}
	s := human.Value(f.Value, f.Units, f.Rate)
	if !math.IsNaN(f.Of) {
		s += " of " + human.Value(f.Of, f.Units, f.Rate)
	}
	return s
}

// sectionOf arranges the figures of a section in as many columns as fit. The place of a
// figure hardly depends on its value, so that nothing jumps about from moment to moment.
func (a *app) sectionOf(s *moment.Section, width int) []line {
	th := a.c.theme
	titles, values := 0, 8
	for i := range s.Figures {
		f := &s.Figures[i]
		titles = max(titles, human.Width(f.Title))
		if math.IsNaN(f.Of) {
			values = max(values, human.Width(figureText(f)))
		} else {
			values = max(values, human.Width("1023 MB of 1023 MB"))
		}
	}
	headWidth := headWidth(width)
	cell := titles + 1 + values + 2
	each := max((width-headWidth+2)/cell, 1)
	rows := (len(s.Figures) + each - 1) / each
	var out []line
	for r := range rows {
		head := ""
		if r == 0 {
			if head = s.Title; human.Width(head) >= headWidth {
				head = s.Name
			}
		}
		l := line{spans: []span{{human.Pad(human.Cut(head, headWidth-1), headWidth, false), th.head}}}
		for k := range each {
			i := r*each + k
			if i >= len(s.Figures) {
				break
			}
			f := &s.Figures[i]
			gap := ""
			if k > 0 {
				gap = "  "
			}
			l.spans = append(l.spans, span{gap + human.Pad(f.Title, titles, false) + " ", th.faint}, span{human.Pad(figureText(f), values, true), a.figureStyle(s.Name, f)})
		}
		out = append(out, l)
	}
	return out
}

// figureStyle highlights values that are out of the ordinary.
func (a *app) figureStyle(section string, f *moment.Figure) tcell.Style {
	th := a.c.theme
	share, full := f.Value/f.Of, f.Value
	if f.Units.Other == "percent" {
		full /= 100
	}
	switch {
	case !f.Known():
		return th.faint
	case f.Name == "full" && full >= 0.9, section == "cpu" && f.Name == "idle" && f.Value <= 0.05,
		section == "memory" && f.Name == "used" && share >= 0.95, f.Name == "swap" && share >= 0.9, f.Name == "oom" && f.Value > 0:
		return th.alarm
	case section == "pressure" && f.Rate && f.Units == metric.NoUnits && f.Value >= 0.1,
		section == "cpu" && (f.Name == "wait" || f.Name == "steal") && f.Value >= 0.2,
		(f.Name == "errors" || f.Name == "drops") && f.Value > 0, f.Name == "busy" && f.Value >= 0.9:
		return th.warn
	}
	return th.plain
}

// coreLines returns the processors, each with a bar and a figure of how busy it was.
func (a *app) coreLines(cores []moment.Core, width int) []line {
	if len(cores) == 0 {
		return nil
	}
	th := a.c.theme
	names := 4
	for i := range cores {
		names = max(names, min(human.Width(cores[i].Name), 8))
	}
	const bar = 8
	headWidth := headWidth(width)
	cell := names + 1 + bar + 1 + 5 + 2
	each := max((width-headWidth+2)/cell, 1)
	var out []line
	for r := 0; r*each < len(cores); r++ {
		head := ""
		if r == 0 {
			head = "cores"
		}
		l := line{spans: []span{{human.Pad(head, headWidth, false), th.head}}}
		for k := range each {
			i := r*each + k
			if i >= len(cores) {
				break
			}
			c := &cores[i]
			busy := c.Busy()
			st := th.plain
			if busy >= 0.9 {
				st = th.alarm
			}
			gap := ""
			if k > 0 {
				gap = "  "
			}
			l.spans = append(l.spans, span{gap + human.Pad(human.Cut(c.Name, names), names, false) + " ", th.faint},
				span{share(busy, bar), st}, span{human.Pad(answer.Share.Text(busy), 6, true), st})
		}
		out = append(out, l)
	}
	return out
}

// share draws a share from 0 to 1 as a bar of width letters.
func share(x float64, width int) string {
	n := 0
	if !math.IsNaN(x) {
		n = min(max(int(math.Round(x*float64(width))), 0), width)
	}
	return strings.Repeat("█", n) + strings.Repeat("·", width-n)
}

// absences returns lines that say why figures have no value, each reason once.
func (a *app) absences(m *moment.Moment, width int) []line {
	var reasons []string
	of := make(map[string][]string)
	for _, s := range m.Sections {
		for i := range s.Figures {
			if f := &s.Figures[i]; !f.Known() && f.Absent != "" {
				if of[f.Absent] == nil {
					reasons = append(reasons, f.Absent)
				}
				of[f.Absent] = append(of[f.Absent], f.Title)
			}
		}
	}
	var out []line
	for _, r := range reasons {
		out = append(out, wrapped("- "+strings.Join(of[r], ", ")+": "+r, width, a.c.theme.faint)...)
	}
	return out
}

// rowLines returns a table of disks, volumes or interfaces: the name, and as many figures
// as fit.
func (a *app) rowLines(what string, rows []moment.Row, width int, none string) []line {
	th := a.c.theme
	if len(rows) == 0 {
		return []line{said(none, th.faint)}
	}
	names := human.Width(what)
	for i := range rows {
		names = max(names, human.Width(rows[i].Name))
	}
	figures := len(rows[0].Figures)
	widths := make([]int, figures)
	total := 0
	shown := 0
	for k := range figures {
		w := max(human.Width(rows[0].Figures[k].Title), 7)
		text := false
		for i := range rows {
			if k < len(rows[i].Figures) {
				w = max(w, human.Width(figureText(&rows[i].Figures[k])))
				text = text || rows[i].Figures[k].Text != ""
			}
		}
		if text {
			w = min(w, 30)
		}
		if total+w+2 > width-min(names, 12) {
			break
		}
		widths[k] = w
		total += w + 2
		shown++
	}
	names = min(names, width-total)
	l := line{spans: []span{{human.Pad(human.Cut(strings.ToUpper(what), names), names, false), th.head}}}
	for k := range shown {
		l.spans = append(l.spans, span{"  " + human.Pad(strings.ToUpper(rows[0].Figures[k].Title), widths[k], true), th.head})
	}
	out := []line{l}
	for i := range rows {
		l := line{spans: []span{{human.Pad(human.Cut(rows[i].Name, names), names, false), th.plain}}}
		for k := range min(shown, len(rows[i].Figures)) {
			f := &rows[i].Figures[k]
			l.spans = append(l.spans, span{"  " + human.Pad(human.Cut(figureText(f), widths[k]), widths[k], true), a.figureStyle(what, f)})
		}
		out = append(out, l)
	}
	return out
}

// sensorLines returns one line for each sensor.
func (a *app) sensorLines(m *moment.Moment, width int) []line {
	th := a.c.theme
	if len(m.Sensors) == 0 {
		return []line{said("no sensor was recorded", th.faint)}
	}
	names := 0
	for i := range m.Sensors {
		names = max(names, human.Width(m.Sensors[i].Name))
	}
	names = min(names, max(width-12, 8))
	var out []line
	for i := range m.Sensors {
		s := &m.Sensors[i]
		l := line{spans: []span{{human.Pad(human.Cut(s.Name, names), names, false) + "  ", th.faint}}}
		for k := range s.Figures {
			f := &s.Figures[k]
			l.spans = append(l.spans, span{figureText(f), a.figureStyle("sensor", f)})
			if !f.Known() && f.Absent != "" {
				l.spans = append(l.spans, span{" " + f.Absent, th.faint})
			}
		}
		out = append(out, l)
	}
	return out
}
