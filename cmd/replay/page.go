package main

import (
	"math"
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
)

// page is where answers are written, and what it can show.
type page struct {
	*clock
	stdout, stderr *visible.Writer
	width, height  int  // of the terminal; 0 when stdout is none
	ascii          bool // the locale has no other letters
	color          bool // stdout is a terminal that may be coloured
	terminalOut    bool // stdout is a terminal
	progress       bool // stderr is a terminal
	colorFlag      string
	env            func(string) string // the variables of who looks

	// Flags.
	format      string
	showCommand bool
	spreadsheet bool

	// sink begins rows for a program instead of writing them; nil: they are
	// written.
	sink func([]out.Column) (out.Writer, error)
}

// rowsOf begins output that is not about hosts; rows still begin with a cell
// for one.
func (p *page) rowsOf(columns ...out.Column) (out.Writer, error) {
	return p.begin(append([]out.Column{{Name: "host", Only: out.Nowhere}}, columns...))
}

func (p *page) begin(columns []out.Column) (out.Writer, error) {
	if p.sink != nil {
		return p.sink(columns)
	}
	f, err := out.ParseFormat(p.format)
	if err != nil {
		return nil, err
	}
	return out.New(p.stdout, columns, out.Options{Format: f, Zone: p.Zone(), Width: p.width, Color: p.color, Spreadsheet: p.spreadsheet, Now: p.Now}), nil
}

// liveRows begins rows that are shown as they come; they still begin with a cell for
// a host, of which there is one.
func (p *page) liveRows(columns ...out.Column) (out.Writer, error) {
	f, err := out.ParseFormat(p.format)
	if err != nil {
		return nil, err
	}
	columns = append([]out.Column{{Name: "host", Only: out.Nowhere}}, columns...)
	return out.New(p.stdout, columns, out.Options{Format: f, Zone: p.Zone(), Width: p.width, Height: p.height, Color: p.color,
		Spreadsheet: p.spreadsheet, Live: true, Now: p.Now}), nil
}

func hostCell(h *metric.Host) out.Cell { return out.Str(h.Name) }

// table reports whether people read the output.
func (p *page) table() bool { return p.format == string(out.Table) }

// align prints rows in columns: l left, r right. Columns without a value are
// left out, and where the terminal is too narrow those in drop, in that order;
// what is then still too long is cut.
func (p *page) align(rows [][]string, how string, drop ...int) {
	p.alignMarked(rows, nil, how, drop...)
}

// alignMarked does so, with the cells that alarms says, by row and column, marked as out
// of the ordinary.
func (p *page) alignMarked(rows [][]string, alarms map[[2]int]bool, how string, drop ...int) {
	widths := make([]int, len(how))
	shown := make([]bool, len(how))
	for n, r := range rows {
		for i, s := range r {
			r[i] = visible.Text(s)
			widths[i] = max(widths[i], human.Width(r[i]))
			shown[i] = shown[i] || i == 0 || n > 0 && s != "-"
		}
	}
	total := func() int {
		sum := -2
		for i, w := range widths {
			if shown[i] {
				sum += w + 2
			}
		}
		return sum
	}
	if p.width > 0 {
		for _, i := range drop {
			if total() > p.width {
				shown[i] = false
			}
		}
		if over := total() - p.width; over > 0 {
			widths[0] = max(widths[0]-over, 4) // Names are what can be cut.
		}
	}
	for n, r := range rows {
		var b strings.Builder
		have := 0
		for i, s := range r {
			if !shown[i] {
				continue
			}
			if i > 0 {
				b.WriteString("  ")
				have += 2
			}
			cell := human.Cut(s, widths[i])
			if p.width > 0 {
				cell = human.Cut(cell, max(p.width-have, 0))
			}
			blanks := strings.Repeat(" ", widths[i]-min(human.Width(cell), widths[i]))
			have += human.Width(cell) + len(blanks)
			text := string(p.alarm(cell, n > 0 && alarms[[2]int{n, i}]))
			if how[i] == 'r' {
				text = blanks + text
			} else {
				text += blanks
			}
			b.WriteString(text)
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			p.stdout.Println(p.bold(line))
			continue
		}
		p.stdout.Println(visible.Styled(line))
	}
}

// textWidth is how wide a paragraph may be: as the terminal, and without one
// as given.
func (p *page) textWidth(otherwise int) int {
	if p.width > 0 {
		return max(p.width, 20)
	}
	return otherwise
}

// linesLeft is how many lines the terminal has below those printed so far, with
// one for the prompt; many where there is no terminal.
func (p *page) linesLeft() int {
	if p.height == 0 {
		return math.MaxInt32
	}
	return p.height - 1 - p.stdout.Lines()
}

// linesOf is how many lines a text takes that is printed as one.
func (p *page) linesOf(text string) int {
	if p.width == 0 {
		return 1
	}
	return max(1, (human.Width(text)+p.width-1)/p.width)
}

// prose prints a sentence, in as many lines as it takes on the terminal; those
// after the first are indented.
func (p *page) prose(text string) { p.headed("", text, 0) }

// headed prints a sentence behind its heading.
func (p *page) headed(head, text string, indent int) {
	if p.width == 0 {
		if head != "" {
			p.stdout.Printf("%s  %s\n", p.bold(head), text)
		} else {
			p.stdout.Println(text)
		}
		return
	}
	start := human.Width(head)
	if head != "" {
		start += 2
	}
	first, _, _ := strings.Cut(visible.Text(text), " ")
	if head != "" && start+human.Width(first) > p.textWidth(0)-indent {
		p.stdout.Println(p.bold(human.Cut(visible.Text(head), p.width)))
		p.headed("", text, indent)
		return
	}
	// The first line has less room: what stands for the heading is one word.
	for i, line := range human.Wrap(strings.Repeat("x", start)+visible.Text(text), p.textWidth(0)-indent) {
		switch {
		case i > 0:
			p.stdout.Println(strings.Repeat(" ", indent) + line)
		case head == "":
			p.stdout.Println(line)
		default:
			p.stdout.Printf("%s  %s\n", p.bold(head), line[start:])
		}
	}
}

// labelled prints a text behind a label; its further lines stand below it. Where
// a word is longer than there is room, all of the text stands below the label.
func (p *page) labelled(label, text string) { p.labelledAs(label, text, false) }

// labelledAs does so, with the text marked if it is out of the ordinary.
func (p *page) labelledAs(label, text string, alarm bool) {
	indent := human.Width(label)
	lines := []string{text}
	if p.width > 0 {
		room := p.width - indent
		if longest(text) > room && indent > 2 {
			if blank := strings.TrimRight(label, " "); blank != "" {
				p.stdout.Println(human.Cut(visible.Text(blank), p.width))
			}
			p.labelledAs("  ", text, alarm)
			return
		}
		lines = human.Wrap(visible.Text(text), max(room, 12))
	}
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", indent)
		}
		p.stdout.Printf("%s%s\n", label, p.alarm(line, alarm))
	}
}

// alarming prints a sentence that tells of something out of the ordinary, in as many
// lines as it takes.
func (p *page) alarming(text string) {
	const indent = 2
	lines := []string{text}
	if p.width > 0 {
		lines = human.Wrap(visible.Text(text), p.textWidth(0)-indent)
	}
	for i, line := range lines {
		if i > 0 {
			line = strings.Repeat(" ", indent) + line
		}
		p.stdout.Println(p.alarm(line, true))
	}
}

// complain prints what is no part of the answer; on a terminal lines are broken
// between words.
func (p *page) complain(text string) {
	if !p.progress || p.width <= 0 || strings.HasPrefix(text, " ") {
		p.stderr.Println(text)
		return
	}
	for _, line := range human.Wrap(visible.Text(text), p.textWidth(0)) {
		p.stderr.Println(line)
	}
}

// longest is how wide the widest word of a text is.
func longest(text string) int {
	wide := 0
	for _, w := range strings.Fields(visible.Text(text)) {
		wide = max(wide, human.Width(w))
	}
	return wide
}

// tenMinutes is what headings come down to that are too long.
const tenMinutes = "10 MINUTES"

// course puts the small charts of gauges into the last column: as wide as the
// terminal leaves room for, where that says anything.
func (p *page) course(rows [][]string, charts []chartOf) {
	last := len(rows[0]) - 1
	room := p.sparkMost()
	if p.width > 0 {
		taken := 0
		for i := range last {
			widest := 0
			for _, r := range rows {
				widest = max(widest, human.Width(r[i]))
			}
			taken += widest + 2
		}
		room = min(max(p.width-taken, 0), room)
	}
	const least = 6
	for i, c := range charts {
		if room >= least {
			rows[i+1][last] = human.Spark(shrink(c.points, room), c.top)
		}
	}
	switch head := rows[0][last]; {
	case room < least:
		rows[0][last] = ""
	case human.Width(head) > room: // The chart matters, not what is written above it.
		rows[0][last] = ""
		if strings.Contains(head, tenMinutes) && room >= len(tenMinutes) {
			rows[0][last] = tenMinutes
		}
	}
}

// chartOf is what a small chart shows.
type chartOf struct {
	points []float64
	top    float64
}

// shrink brings points down to n at most, each the mean of those it stands for.
func shrink(points []float64, n int) []float64 {
	if len(points) <= n {
		return points
	}
	out := make([]float64, n)
	for i := range out {
		sum, have := 0.0, 0.0
		for _, x := range points[i*len(points)/n : (i+1)*len(points)/n] {
			if x == x {
				sum, have = sum+x, have+1
			}
		}
		out[i] = sum / have // NaN where there is none
	}
	return out
}

// sparkPoints is how wide the small charts are, where the terminal does not reach
// farther.
const sparkPoints = 40

// sparkMost is how many points small charts are asked for: as many as the terminal
// may have room for beside what else is in their rows.
func (p *page) sparkMost() int {
	const beside = 60
	return max(sparkPoints, min(p.width, 1000)-beside)
}

// bold marks a heading on a terminal.
func (p *page) bold(s string) visible.Styled {
	if !p.color {
		return visible.Styled(visible.Text(s))
	}
	return visible.Bold(s)
}

// alarm marks what is out of the ordinary on a terminal, if it is.
func (p *page) alarm(s string, is bool) visible.Styled {
	if !p.color || !is {
		return visible.Styled(visible.Text(s))
	}
	return visible.Alarm(s)
}

// tell prints a note that is not part of the answer.
func (p *page) tell(text string) { p.complain("replay: " + text) }
