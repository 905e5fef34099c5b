package browse

import (
	"sort"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
)

// mostMarks is how many marks of the timeline are listed.
const mostMarks = 1000

// eventLines lists the events since the previous sample, and the marks of the timeline, if there
// are very many those around the cursor.
func (a *app) eventLines(m *moment.Moment, width int) []line {
	th := a.c.theme
	var out []line
	if len(m.Events) > 0 {
		out = append(out, said("since the sample before", th.head))
		for _, e := range m.Events {
			at := e.At.Wall
			out = append(out, a.eventLine(at, "  ", string(e.Kind)+": "+e.Text, width, th.plain))
		}
		out = append(out, line{})
	}
	t := a.shownTimeline
	if t == nil {
		return out
	}
	if len(t.Marks) == 0 {
		return append(out, said("nothing is marked on this timeline", th.faint))
	}
	out = append(out, said("on this timeline", th.head))
	// Of very many marks, list those around the cursor.
	here := sort.Search(len(t.Marks), func(i int) bool { return t.Marks[i].From > a.at })
	first, last := max(here-mostMarks/2, 0), min(here+mostMarks/2, len(t.Marks))
	if first > 0 {
		out = append(out, said(cli.Count(first, "earlier one")+" (E goes back)", th.faint))
	}
	for i := first; i < last; i++ {
		mark := &t.Marks[i]
		_, sign := signOf(mark.Kind)
		out = append(out, a.eventLine(mark.From, sign+" ", a.markText(mark), width, a.markStyle(mark.Kind)))
	}
	if n := len(t.Marks) - last; n > 0 {
		out = append(out, said(cli.Count(n, "later one")+" (e goes on)", th.faint))
	}
	return out
}

// eventLine returns the line of an event; Enter goes to it.
func (a *app) eventLine(at int64, sign, text string, width int, st tcell.Style) line {
	when := a.clockBeside(at) + "  "
	return line{
		spans: []span{{when, a.c.theme.faint}, {sign, st}, {human.Cut(text, max(width-human.Width(when)-2, 1)), st}},
		does:  func(a *app) { a.jump(at) },
		at:    at,
	}
}

// nearest returns the line of the last event not after the cursor; -1 if there is none.
func nearest(lines []line, at int64) int {
	best := -1
	for i, l := range lines {
		if l.does != nil && l.at <= at && (best < 0 || l.at >= lines[best].at) {
			best = i
		}
	}
	return best
}
