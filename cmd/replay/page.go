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
	progress       bool // stderr is a terminal

	// Flags.
	format      string
	spreadsheet bool
}

// rowsOf begins output that is not about hosts; rows still begin with a cell
// for one.
func (p *page) rowsOf(columns ...out.Column) (out.Writer, error) {
	return p.begin(append([]out.Column{{Name: "host", Only: out.Nowhere}}, columns...))
}

func (p *page) begin(columns []out.Column) (out.Writer, error) {
	f, err := out.ParseFormat(p.format)
	if err != nil {
		return nil, err
	}
	return out.New(p.stdout, columns, out.Options{Format: f, Zone: p.zone(), Width: p.width, Color: p.color, Spreadsheet: p.spreadsheet}), nil
}

func hostCell(h *metric.Host) out.Cell { return out.Str(h.Name) }

// table reports whether people read the output.
func (p *page) table() bool { return p.format == string(out.Table) }

// align prints rows in columns: l left, r right. Columns without a value are
// left out, and where the terminal is too narrow those in drop, in that order;
// what is then still too long is cut.
func (p *page) align(rows [][]string, how string, drop ...int) {
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
		for i, s := range r {
			if !shown[i] {
				continue
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(human.Pad(human.Cut(s, widths[i]), widths[i], how[i] == 'r'))
		}
		line := strings.TrimRight(b.String(), " ")
		if p.width > 0 {
			line = human.Cut(line, p.width)
		}
		if n == 0 {
			p.stdout.Println(p.bold(line))
			continue
		}
		p.stdout.Println(line)
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
func (p *page) labelled(label, text string) {
	indent := human.Width(label)
	lines := []string{text}
	if p.width > 0 {
		lines = human.Wrap(visible.Text(text), max(p.width-indent, 12))
	}
	for _, line := range lines {
		if blank := strings.TrimRight(label, " "); p.width > 0 && indent > 2 && indent+human.Width(line) > p.width {
			if blank != "" {
				p.stdout.Println(blank)
			}
			p.labelled("  ", text)
			return
		}
	}
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", indent)
		}
		p.stdout.Println(label + line)
	}
}

// course puts the small charts of gauges into the last column: as wide as the
// terminal leaves room for, where that says anything.
func (p *page) course(rows [][]string, charts []chartOf) {
	last := len(rows[0]) - 1
	room := sparkPoints
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
	if room < least {
		rows[0][last] = ""
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
