package browse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
)

// The smallest terminal that can show anything.
const (
	leastWidth  = 40
	leastHeight = 10
)

// silence is how long nothing may be recorded before the screen says so.
const silence = 15 * time.Second

// draw draws everything.
func (a *app) draw() {
	c := a.c
	a.width, a.height = c.Size()
	a.hits = a.hits[:0]
	c.HideCursor()
	c.fill(rect{0, 0, a.width, a.height}, c.theme.plain)
	if a.width < leastWidth || a.height < leastHeight {
		a.timelineRect = rect{}
		text := fmt.Sprintf("this needs a terminal of %d columns and %d lines", leastWidth, leastHeight)
		for i, l := range human.Wrap(text, max(a.width, 1)) {
			if i < a.height {
				c.text(0, i, a.width, l, c.theme.plain)
			}
		}
		return
	}
	all := rect{0, 0, a.width, a.height}
	head, rest := all.top(1)
	a.drawHead(head)
	height, each := a.timelineHeight(a.height)
	time, rest := rest.top(height)
	body, foot := rest.top(rest.h - 1)
	status, body := body.top(a.statusHeight())
	if a.engine == nil {
		a.drawWaiting(body)
		a.drawFoot(foot)
		return
	}
	a.drawTimeline(time, each)
	a.drawStatus(status)
	a.drawBody(body)
	if o := a.overlay(); o != nil {
		// What is behind a window cannot be clicked, except for the timeline.
		a.hits = a.hits[:a.timelineHits()]
		if t, ok := o.(*text); ok && t.whole {
			_, body = rect{0, 0, a.width, foot.y}.top(head.h)
		}
		o.draw(a, body)
	}
	a.drawFoot(foot)
}

// timelineHits returns how many of the clickable parts belong to the head and the timeline.
func (a *app) timelineHits() int {
	n := 0
	for _, h := range a.hits {
		if h.y < a.timelineRect.y+a.timelineRect.h {
			n++
		}
	}
	return n
}

// drawHead draws the name of the host, and the pages.
func (a *app) drawHead(r rect) {
	c := a.c
	name := a.host.Name
	if name == "" {
		name = "replay browse"
	}
	tabs := 0
	for p := range pages {
		tabs += len(pageTitles[p]) + 3
	}
	long := r.w-tabs >= 12
	if !long {
		tabs = 0
		for p := range pages {
			tabs += 3
			if p == a.page {
				tabs += len(pageTitles[p])
			}
		}
	}
	c.text(r.x, r.y, r.w-tabs-1, name, c.theme.bold)
	if p := a.host.Platform; p != "" && r.w-tabs-1 > human.Width(visible.Text(name))+len(p)+3 {
		c.text(r.x+human.Width(visible.Text(name))+2, r.y, len(p), p, c.theme.faint)
	}
	x := r.x + r.w - tabs
	for p := range pages {
		label := fmt.Sprintf("%d", p+1)
		if long || p == a.page {
			label += " " + pageTitles[p]
		}
		st := c.theme.faint
		if p == a.page {
			st = c.theme.head.Underline(true)
		}
		x++
		n := c.text(x, r.y, r.x+r.w-x, label, st)
		a.hit(rect{x, r.y, n, 1}, func(int, int, bool) { a.turnTo(p) })
		x += n
	}
}

// drawWaiting says that there is nothing to show yet.
func (a *app) drawWaiting(r rect) {
	text := a.Waiting
	if text == "" {
		text = "opening the archives"
	}
	for i, l := range human.Wrap(visible.Text(text), r.w) {
		if i < r.h {
			a.c.text(r.x, r.y+i, r.w, l, a.c.theme.plain)
		}
	}
}

// statusText returns what to say about the moment beside its time, and in which style.
func (a *app) statusText() (text string, st tcell.Style) {
	m := a.shownMoment
	if m == nil || a.momentWhen != a.at || a.engine == nil {
		return "", a.c.theme.plain
	}
	if text := a.breakText(m); text != "" {
		return text, a.c.theme.warn
	}
	if m.At != a.at {
		return "sample of " + a.clockBeside(m.At), a.c.theme.plain
	}
	return "", a.c.theme.plain
}

// statusHeight returns how many lines the status takes: two if the text does not fit behind the
// time.
func (a *app) statusHeight() int {
	if text, _ := a.statusText(); text != "" && human.Width(a.clock(a.at))+2+human.Width(text) > a.width {
		return 2
	}
	return 1
}

// drawStatus draws the time of the moment, the break that it lies in, and how the table is
// arranged.
func (a *app) drawStatus(r rect) {
	c := a.c
	list := []span{{a.clock(a.at), c.theme.bold}}
	right := a.arrangementText()
	if text, st := a.statusText(); r.h > 1 {
		c.text(r.x, r.y+1, r.w, text, st)
	} else if text != "" {
		list = append(list, span{"  " + text, st})
	}
	silent := a.Now().Sub(time.Unix(0, a.end))
	switch {
	case a.Changed == nil:
	case !a.following && a.end > a.at:
		list = append(list, span{"  " + human.Duration(time.Duration(a.end-a.at)) + " behind (F: now)", c.theme.mark})
	case silent > silence:
		list = append(list, span{"  nothing recorded for " + human.Duration(silent.Truncate(time.Second)), c.theme.warn})
	default:
		list = append(list, span{"  following", c.theme.mark})
	}
	n := c.spans(r.x, r.y, r.w, list...)
	if left := r.w - n - 2; left > 8 && right != "" {
		c.padded(r.x+n+2, r.y, left, human.Cut(right, left), true, c.theme.faint)
	}
}

// arrangementText describes how the processes are arranged.
func (a *app) arrangementText() string {
	var parts []string
	if a.filter != nil {
		parts = append(parts, "only "+a.filter.text)
	}
	by := "by " + a.sort
	if a.reverse {
		by += " reversed"
	}
	switch {
	case a.owners && a.filter == nil:
		by = "owners, " + by
	case a.tree:
		by = "tree, " + by
	}
	parts = append(parts, by)
	if n := len(a.pins); n > 0 {
		parts = append(parts, fmt.Sprintf("%d pinned", n))
	}
	if len(a.marks) > 0 {
		parts = append(parts, cli.Count(len(a.marks), "mark"))
	}
	return strings.Join(parts, " · ")
}

// breakText says what break a moment lies in, and what was recorded around it.
func (a *app) breakText(m *moment.Moment) string {
	b := m.Break
	if b == nil {
		return ""
	}
	var kind moment.MarkKind = moment.MarkGap
	if m.Mark != nil {
		kind = m.Mark.Kind
	}
	text := map[moment.MarkKind]string{moment.MarkSleep: "asleep", moment.MarkOff: "off or starting"}[kind]
	if text == "" {
		text = "nothing recorded"
	}
	text += " " + a.spanText(b.From, b.To)
	var around []string
	if m.At != 0 {
		around = append(around, "last sample "+a.clockBeside(m.At))
	}
	if m.After != 0 {
		around = append(around, "next "+a.clockBeside(m.After))
	}
	if len(around) > 0 {
		text += "; " + strings.Join(around, ", ")
	}
	return text
}

// drawFoot draws the prompt, else the message, else hints about keys.
func (a *app) drawFoot(r rect) {
	c := a.c
	if a.prompt != nil {
		a.prompt.draw(a, r)
		return
	}
	if what := a.busy(); what != "" {
		text := what + strings.Repeat(".", 1+a.spin%3)
		if a.w.askingLong() {
			text = what
			if share := a.engine.Progress(); share > 0 && share <= 1 {
				text += ", " + human.Percent(math.Floor(100*share)/100) + " seen"
			}
			if lasted := a.Now().Sub(a.longBegan).Truncate(time.Second); lasted > 0 {
				text += ", " + human.Duration(lasted) + " so far"
			}
			text += " (Esc gives up)"
		}
		c.text(r.x, r.y, r.w, text, c.theme.warn)
		return
	}
	if a.said != "" {
		st := c.theme.plain
		if a.saidBad {
			st = c.theme.alarm
		}
		c.text(r.x, r.y, r.w, strings.ReplaceAll(a.said, "\n", " "), st)
		return
	}
	x := r.x
	for _, h := range hints {
		key, word := h[0], h[1]
		n := human.Width(key) + 1 + human.Width(word)
		if a.ascii() && key == "←→" {
			key = "<>"
		}
		if x+n > r.x+r.w {
			break
		}
		from := x
		x += c.text(x, r.y, r.w, key, c.theme.bold)
		x += c.text(x, r.y, r.w, " "+word, c.theme.faint)
		if do := actions[h[2]]; do != nil {
			a.hit(rect{from, r.y, x - from, 1}, func(int, int, bool) { do(a) })
		}
		x += 2
	}
}

func (a *app) ascii() bool { return a.c.ascii }

// hints are the keys on the last line: the text for the key, a word, and the key.
var hints = [][3]string{
	{"?", "help", "?"}, {"←→", "sample", ""}, {",.", "minute", ""}, {"<>", "hour", ""}, {"b", "time", "b"}, {"e", "event", "e"},
	{"x", "peak", "x"}, {"/", "filter", "/"}, {"Enter", "life", "Enter"}, {"z", "zoom", "z"}, {"m", "diff", "m"}, {"q", "quit", "q"},
	{"f", "find when", "f"}, {"p", "pin", "p"}, {"u", "back", "u"}, {"c", "command", "c"}, {"v", "tree", "v"}, {"s", "sort", "s"}, {"o", "owners", "o"},
}

// drawBody draws the page and, if there is room, others beside it.
func (a *app) drawBody(r rect) {
	var companions []page
	widths := []int{r.w}
	switch {
	case r.w >= 230:
		widths = []int{r.w - 160, 80, 78}
	case r.w >= 132:
		widths = []int{r.w - 64, 63}
	}
	beside := pageSystem
	if a.page == pageSystem {
		beside = pageProcesses
	}
	x := r.x
	for i, w := range widths {
		part := rect{x, r.y, w, r.h}
		switch i {
		case 0:
			a.drawPage(a.page, part, true)
		case 1:
			companions = []page{beside}
			if len(widths) == 2 {
				companions = append(companions, pageEvents)
			}
			a.drawCompanions(part, companions)
		case 2:
			a.drawCompanions(part, []page{pageDisks, pageNetwork, pageSensors, pageEvents})
		}
		x += w + 1
		if i+1 < len(widths) {
			for y := range r.h {
				a.c.text(x-1, r.y+y, 1, "│", a.c.theme.faint)
			}
		}
	}
}

// drawCompanions draws pages below each other, each in as many lines as it takes.
func (a *app) drawCompanions(r rect, list []page) {
	for i, p := range list {
		if p == a.page || r.h < 3 {
			continue
		}
		if p == pageProcesses {
			a.drawProcesses(rect{r.x + 1, r.y, r.w - 1, r.h}, false)
			return
		}
		lines := a.lines(p, r.w-1)
		n := len(lines)
		if i == len(list)-1 {
			n = r.h
		}
		part, rest := r.top(min(n, r.h))
		top := 0
		if p == pageEvents {
			top = a.eventTop(lines, part.h)
		}
		for k := range min(part.h, len(lines)-top) {
			a.c.spans(part.x+1, part.y+k, part.w-1, lines[top+k].spans...)
			if do := lines[top+k].does; do != nil {
				a.hit(rect{part.x + 1, part.y + k, part.w - 1, 1}, func(int, int, bool) { do(a) })
			}
		}
		_, r = rest.top(1)
	}
}

// eventTop returns the first line of events to show, so that the nearest event is visible.
func (a *app) eventTop(lines []line, height int) int {
	return max(min(nearest(lines, a.at)-height/2, len(lines)-height), 0)
}

// drawPage draws the page that keys act on.
func (a *app) drawPage(p page, r rect, main bool) {
	if p == pageProcesses {
		a.drawProcesses(r, main)
		return
	}
	lines := a.lines(p, r.w)
	if p == pageSystem && len(lines)+3 < r.h {
		_, below := r.top(len(lines) + 1)
		a.drawCompanions(rect{below.x - 1, below.y, below.w + 1, below.h}, []page{pageDisks, pageNetwork, pageSensors, pageEvents})
		r.h = len(lines)
	}
	l := &a.lists[p]
	a.tableRows = r.h
	if p == pageEvents {
		l.line = min(l.line, len(lines)-1)
		if l.line < 0 || lines[l.line].does == nil || l.chosen != a.eventsKey() {
			l.line, l.chosen = nearest(lines, a.at), a.eventsKey()
			l.top = a.eventTop(lines, r.h)
		}
		l.top = min(max(l.top, l.line-r.h+1), max(l.line, 0))
	}
	if p == pageNetwork {
		l.line = slices.IndexFunc(lines, func(one line) bool { return one.does != nil && one.key == l.chosen })
		if l.line >= 0 {
			l.top = min(max(l.top, l.line-r.h+1), l.line)
		}
	}
	l.top = max(min(l.top, len(lines)-r.h), 0)
	for i := range min(r.h, len(lines)-l.top) {
		one := lines[l.top+i]
		a.c.spans(r.x, r.y+i, r.w, one.spans...)
		if one.does == nil {
			continue
		}
		n := l.top + i
		if n == l.line {
			a.c.restyle(rect{r.x, r.y + i, r.w, 1}, func(st tcell.Style) tcell.Style { return st.Reverse(true) })
		}
		a.hit(rect{r.x, r.y + i, r.w, 1}, func(_, _ int, twice bool) {
			if l.line = n; p == pageNetwork {
				l.chosen = one.key
			}
			if twice {
				one.does(a)
			}
		})
	}
}

// eventsKey returns a text that changes whenever the list of events does.
func (a *app) eventsKey() string { return fmt.Sprint(a.at, a.from, a.to, a.momentWhen) }
