package browse

import (
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
)

// helpLines returns the table of keys, in as many columns as there is room for, and the meaning
// of the signs on the timeline.
func helpLines(a *app, width int) []line {
	th := a.c.theme
	type block struct{ lines []line }
	keysWidth := 0
	for _, g := range bindings {
		for _, b := range g.bindings {
			keysWidth = max(keysWidth, human.Width(keysText(b.keys)))
		}
	}
	var blocks []block
	wide := 0
	add := func(title string, rows [][2]string) {
		b := block{lines: []line{said(title, th.head)}}
		for _, r := range rows {
			wide = max(wide, keysWidth+2+human.Width(r[1]))
			b.lines = append(b.lines, line{spans: []span{{human.Pad(r[0], keysWidth, false) + "  ", th.bold}, {r[1], th.plain}}})
		}
		blocks = append(blocks, b)
	}
	for _, g := range bindings {
		var rows [][2]string
		for _, b := range g.bindings {
			rows = append(rows, [2]string{keysText(b.keys), b.help})
		}
		add(g.title, rows)
	}
	add("the mouse", [][2]string{
		{"click", "timeline: goes there; head: sorts; row: chooses"}, {"twice", "row: its life; event: goes there"},
		{"drag", "timeline: zooms to what is selected"}, {"wheel", "timeline: zooms; elsewhere: scrolls"},
	})
	var rows [][2]string
	for _, s := range signs {
		rows = append(rows, [2]string{s.sign, s.word})
	}
	add("signs below the lanes", rows)
	add("the lanes", [][2]string{
		{"left", "bars: the mean of each column; faint: the highest"}, {"right", "what the moment under the cursor shows"},
		{"cpu", "of the machine; of a process: of one core"},
		{"+ - *", "rows: began, ended since the sweep before; pinned"},
	})
	n := max(min((width+3)/(wide+3), len(blocks)), 1)
	columns := make([][]line, n)
	total := 0
	for _, b := range blocks {
		total += len(b.lines) + 1
	}
	k := 0
	for _, b := range blocks {
		if k < n-1 && len(columns[k]) > 0 && len(columns[k])+len(b.lines)/2 > total/n {
			k++
		}
		if len(columns[k]) > 0 {
			columns[k] = append(columns[k], line{})
		}
		columns[k] = append(columns[k], b.lines...)
	}
	var out []line
	for i := 0; ; i++ {
		var l line
		any := false
		for k := range columns {
			used := 0
			if i < len(columns[k]) {
				any = true
				for _, s := range columns[k][i].spans {
					used += human.Width(s.text)
				}
				l.spans = append(l.spans, columns[k][i].spans...)
			}
			if k < n-1 {
				l.spans = append(l.spans, span{strings.Repeat(" ", max(wide-used, 0)+3), th.plain})
			}
		}
		if !any {
			return out
		}
		out = append(out, l)
	}
}

// keysText returns the names of keys as the help shows them.
func keysText(keys []string) string {
	if len(keys) > 3 {
		return keys[0] + " to " + keys[len(keys)-1]
	}
	return strings.Join(keys, " ")
}

// showHelp shows the help.
func (a *app) showHelp() {
	a.put(&text{title: "keys", lines: helpLines, whole: true})
}

// showCommand shows the commands that print what is on the screen.
func (a *app) showCommand() {
	if a.engine == nil {
		return
	}
	commands := a.commands()
	a.put(&text{title: "the same on a command line", lines: func(a *app, width int) []line {
		var out []line
		for _, s := range commands {
			out = append(out, said(s[0], a.c.theme.head))
			for _, s := range shellLines(s[1], width) {
				out = append(out, said(s, a.c.theme.plain))
			}
			out = append(out, line{})
		}
		return out
	}})
}

// shellLines breaks a command into lines of a width that a shell joins again.
func shellLines(s string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Split(s, " ") {
		if line != "" && human.Width(line)+1+human.Width(word)+2 > width {
			out = append(out, line+" \\")
			line = "  " + word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// commands returns the commands that print the moment, this page of it, and the stretch on the
// timeline.
func (a *app) commands() [][2]string {
	at := stamp(a.at, a.Zone)
	list := [][2]string{{"this moment", a.Command("at", at)}}
	switch a.page {
	case pageProcesses:
		patterns, all := a.filter.patterns()
		args := append(append([]string{"ps"}, patterns...), "--at", at)
		if a.sort != "user" && a.sort != "state" && a.sort != "ppid" {
			args = append(args, "--sort", a.sort)
		}
		switch {
		case a.owners && a.filter == nil:
			args = append(args, "--group", "owner")
		case a.tree:
			args = append(args, "--tree")
		}
		title := "its processes"
		if !all {
			title += ", also those that are not " + visible.Text(a.filter.text)
		}
		list = append(list, [2]string{title, a.Command(args...)})
	case pageDisks:
		list = append(list, [2]string{"its disks", a.Command("values", "disk.dev", "filesys", "--to", at)})
	case pageNetwork:
		list = append(list, [2]string{"its interfaces", a.Command("values", "network.interface", "--to", at)})
		if a.network != nil {
			args := []string{"net", "--at", at}
			if a.owners {
				args = append(args, "--group", "owner")
			}
			list = append(list, [2]string{"who used the network", a.Command(args...)})
		}
	}
	from, to := stamp(a.from, a.Zone), stamp(a.to, a.Zone)
	list = append(list, [2]string{"what happened on this timeline", a.Command("events", "--from", from, "--to", to)})
	list = append(list, [2]string{"an overview of it", a.Command("--from", from, "--to", to)})
	if t, ok := a.overlay().(*text); ok && t.command != nil {
		list = append(list, [2]string{"this window", a.Command(t.command...)})
	}
	if w, ok := a.overlayLife(); ok {
		list = append(list, [2]string{"this life", a.Command("ps", human.Figures(float64(w.life.PID)), "--from", stamp(w.life.From, a.Zone), "--to", stamp(w.life.To, a.Zone))})
	}
	if len(a.marks) == 2 {
		first, second := moment.Around(a.marks[0], a.marks[1])
		span := func(w query.Window) string { return stamp(w.From, a.Zone) + ".." + stamp(w.To, a.Zone) }
		list = append(list, [2]string{"what differs between the marked moments", a.Command("diff", span(first), span(second), "-n", "0")})
	}
	screen := []string{"browse", "--at", at}
	if !a.whole {
		screen = append(screen, "--from", from, "--to", to)
	}
	return append(list, [2]string{"this screen", a.Command(screen...)})
}

// overlayLife returns the life window, if it is on top.
func (a *app) overlayLife() (*lifeWindow, bool) {
	w, ok := a.overlay().(*lifeWindow)
	return w, ok
}
