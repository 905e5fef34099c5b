package browse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store"
)

// drawProcesses draws the process table: what came and went, the headings of the columns, and
// the rows around the chosen one.
func (a *app) drawProcesses(r rect, main bool) {
	c := a.c
	m := a.shownMoment
	if m == nil || r.h < 2 {
		return
	}
	summary, rest := r.top(1)
	a.drawComings(summary, m)
	rows := a.rows()
	heads, body := rest.top(1)
	columns := a.columns(r.w)
	x := heads.x
	for _, col := range columns {
		w := col.Pane.Width
		if col.Key == "name" {
			x += 2 // signs
			w = heads.x + heads.w - x
		}
		title, st := col.Pane.Title, c.theme.head
		if col.Key == a.sort {
			st = st.Reverse(true)
		}
		c.padded(x, heads.y, w, title, col.Numeric(), st)
		name := col.Key
		a.hit(rect{x, heads.y, w, 1}, func(int, int, bool) { a.sortBy(name) })
		x += w + 1
	}
	l := &a.lists[pageProcesses]
	chosen := slices.IndexFunc(rows, func(row row) bool { return row.p.Key == l.chosen })
	if main {
		a.tableRows = body.h
		if chosen >= 0 {
			l.top = min(max(l.top, chosen-body.h+1), chosen)
		}
		l.top = max(min(l.top, len(rows)-body.h), 0)
	}
	if len(rows) == 0 {
		c.text(body.x, body.y, body.w, a.noProcesses(m), c.theme.faint)
	}
	top := l.top
	if !main {
		top = 0
	}
	for i := range min(body.h, len(rows)-top) {
		row := rows[top+i]
		y := body.y + i
		a.drawProcess(rect{body.x, y, body.w, 1}, &row, columns, m)
		if main && top+i == chosen {
			c.restyle(rect{body.x, y, body.w, 1}, func(st tcell.Style) tcell.Style { return st.Reverse(true) })
		}
		key := row.p.Key
		a.hit(rect{body.x, y, body.w, 1}, func(_, _ int, twice bool) {
			if l.chosen = key; twice && !a.toggle(key) {
				a.life(key)
			}
		})
	}
}

// noProcesses says why the table is empty.
func (a *app) noProcesses(m *moment.Moment) string {
	if a.filter != nil && len(m.Processes) > 0 {
		return fmt.Sprintf("none of %s is %s (Esc shows all)", cli.Count(len(m.Processes), "process"), a.filter.text)
	}
	return "no processes were recorded at this moment"
}

// drawProcess draws one row.
func (a *app) drawProcess(r rect, row *row, columns []*column, m *moment.Moment) {
	c := a.c
	p := row.p
	st := c.theme.plain
	switch {
	case row.ended:
		st = c.theme.gone
	case row.pinned:
		st = c.theme.bold
	}
	x := r.x
	for _, col := range columns {
		if col.Key != "name" {
			s := st
			if col.Key == "cpu" && p.CPU() >= 0.9 && !row.ended {
				s = c.theme.alarm
			}
			text := col.Text(p.Process)
			if row.owner != nil && slices.Contains(ofOne, col.Key) {
				text = ""
			}
			c.padded(x, r.y, col.Pane.Width, text, col.Numeric(), s)
			x += col.Pane.Width + 1
			continue
		}
		sign := "  "
		switch {
		case row.owner != nil && row.owner.open:
			sign = "▾ "
		case row.owner != nil:
			sign = "▸ "
		case row.pinned:
			sign = "* "
		case row.ended:
			sign = "- "
		case p.Began:
			sign = "+ "
		}
		x += c.text(x, r.y, r.x+r.w-x, sign, c.theme.mark)
		x += c.text(x, r.y, r.x+r.w-x, leadWithin(row.lead, r.x+r.w-x-leastName), c.theme.faint)
		x += c.text(x, r.y, r.x+r.w-x, p.Name, st)
		switch {
		case row.owner != nil:
			c.text(x, r.y, r.x+r.w-x, row.owner.text(), c.theme.faint)
		case row.ended:
			x += c.text(x, r.y, r.x+r.w-x, "  "+a.endText(p.Exit), c.theme.warn)
		}
		if p.Command != "" && p.Command != p.Name && x < r.x+r.w-6 {
			c.text(x+2, r.y, r.x+r.w-x-2, p.Command, c.theme.faint)
		}
	}
}

// ofOne are the columns that say nothing about several processes together.
var ofOne = []string{"pid", "ppid", "state", "age"}

// leadWithin returns the part of a tree's line in front of a name, in that many letters. If it
// is longer, it keeps the part next to the name.
func leadWithin(lead string, room int) string {
	letters := []rune(lead)
	room = max(room, 4) // the branch, and the sign that something is missing
	if len(letters) <= room {
		return lead
	}
	return "… " + string(letters[len(letters)-room+2:])
}

// endText says how a process ended.
func (a *app) endText(e *store.Event) string {
	if e == nil {
		return "ended, how is not known"
	}
	how := e.Label("how")
	if how == "" {
		how = "ended"
	}
	return how + " at " + a.in(e.At.Wall).Format("15:04:05")
}

// drawComings draws a line that says how many processes there are, and which began, ended, or
// came and went since the previous sweep.
func (a *app) drawComings(r rect, m *moment.Moment) {
	c := a.c
	parts := []span{{cli.Count(len(m.Processes), "process"), c.theme.plain}}
	if m.Sweep != 0 && m.Sweep != m.At {
		parts = append(parts, span{" at " + a.in(m.Sweep).Format("15:04:05"), c.theme.faint})
	}
	if m.LastSweep != 0 {
		parts = append(parts, span{"; since " + a.in(m.LastSweep).Format("15:04:05"), c.theme.faint})
		if m.Began > 0 {
			parts = append(parts, span{fmt.Sprintf(" +%d", m.Began), c.theme.mark})
		}
		if n := len(m.Ended); n > 0 {
			parts = append(parts, span{fmt.Sprintf(" -%d", n), c.theme.warn})
			parts = append(parts, span{" (" + endedNames(m.Ended) + ")", c.theme.faint})
		}
		if text := briefText(m); text != "" {
			parts = append(parts, span{" " + text, c.theme.faint})
		}
		if m.Began == 0 && len(m.Ended) == 0 && m.Unseen <= 0 {
			parts = append(parts, span{" none began or ended", c.theme.faint})
		}
	}
	c.spans(r.x, r.y, r.w, parts...)
}

// endedNames lists processes that ended, each name once, those that ended badly first.
func endedNames(list []*moment.Process) string {
	var bad, good []string
	for _, p := range list {
		name := visible.Text(p.Name)
		if how := howShort(p.Exit); how != "" {
			bad = append(bad, name+" "+how)
		} else {
			good = append(good, name)
		}
	}
	return counted(append(bad, good...), 4)
}

// howShort says how a process ended, if it ended badly.
func howShort(e *store.Event) string {
	if e == nil {
		return ""
	}
	if how := e.Label("how"); how != "exit 0" {
		return how
	}
	return ""
}

// counted lists at most that many words, each once with its count.
func counted(words []string, most int) string {
	n := make(map[string]int)
	var order []string
	for _, w := range words {
		if n[w]++; n[w] == 1 {
			order = append(order, w)
		}
	}
	var out []string
	for i, w := range order {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(order)-most))
			break
		}
		if n[w] > 1 {
			w = fmt.Sprintf("%d %s", n[w], w)
		}
		out = append(out, w)
	}
	return strings.Join(out, ", ")
}

// briefText says how many processes came and went between two sweeps, and which.
func briefText(m *moment.Moment) string {
	if m.Unseen <= 0 && len(m.Brief) == 0 {
		return ""
	}
	n := m.Unseen
	named := 0
	var names []string
	for _, b := range m.Brief {
		named += b.Count
		for range min(b.Count, 1000) {
			names = append(names, b.Name)
		}
	}
	n = max(n, named)
	text := human.Count(float64(n)) + " came and went"
	if m.UnseenMost && n > named {
		text = "up to " + text
	}
	if len(names) > 0 {
		text += ": " + counted(names, 4)
	}
	return text
}

// sortBy sorts by a column. If the table is already sorted by it, it reverses the order.
func (a *app) sortBy(name string) {
	if a.sort == name {
		a.reverse = !a.reverse
		return
	}
	a.sort, a.reverse = name, false
	a.lists[pageProcesses].top = 0
}

// sortNext sorts by the next shown column.
func (a *app) sortNext(by int) {
	columns := a.columns(a.width)
	i := slices.IndexFunc(columns, func(c *column) bool { return c.Key == a.sort })
	a.sort, a.reverse = columns[(i+by+len(columns))%len(columns)].Key, false
}

// scroll moves the selection, or what is shown, by that many lines.
func (a *app) scroll(by int) {
	l := &a.lists[a.page]
	switch a.page {
	case pageProcesses:
		rows := a.rows()
		if len(rows) == 0 {
			return
		}
		i := slices.IndexFunc(rows, func(r row) bool { return r.p.Key == l.chosen })
		if i < 0 {
			if i = l.top; by > 0 {
				i--
			}
		}
		l.chosen = rows[min(max(i+by, 0), len(rows)-1)].p.Key
	case pageEvents:
		lines := a.lines(pageEvents, 80)
		step := 1
		if by < 0 {
			step = -1
		}
		// If a line cannot be chosen, the next one that can is chosen.
		from := min(max(l.line+by, 0), len(lines)-1)
		for _, way := range []int{step, -step} {
			for k := from; k >= 0 && k < len(lines); k += way {
				if lines[k].does != nil {
					l.line = k
					return
				}
			}
		}
	case pageNetwork:
		a.chooseUser(by)
	default:
		l.top = max(l.top+by, 0)
	}
}

// enter opens the chosen item.
func (a *app) enter() {
	if a.page == pageNetwork && a.enterUser() {
		return
	}
	l := &a.lists[a.page]
	switch a.page {
	case pageEvents:
		if lines := a.lines(pageEvents, 80); l.line >= 0 && l.line < len(lines) && lines[l.line].does != nil {
			lines[l.line].does(a)
		}
	default:
		key := l.chosen
		if a.page != pageProcesses {
			key = a.lists[pageProcesses].chosen
		}
		if key == "" {
			if rows := a.rows(); len(rows) > 0 {
				key = rows[0].p.Key
				a.lists[pageProcesses].chosen = key
			}
		}
		if key != "" && !a.toggle(key) {
			a.life(key)
		}
	}
}

// turn shows the next page, or the previous one.
func (a *app) turn(by int) { a.turnTo((a.page + page(by) + pages) % pages) }

// turnTo shows a page and closes all windows.
func (a *app) turnTo(p page) {
	a.page = p
	a.overlays = nil
}
