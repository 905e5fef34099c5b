package main

import (
	"math"
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
)

// align prints rows in columns: l left, r right. Columns without a value are
// left out, and where the terminal is too narrow those in drop, in that order;
// what is then still too long is cut.
func (a *app) align(rows [][]string, how string, drop ...int) {
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
	if a.width > 0 {
		for _, i := range drop {
			if total() > a.width {
				shown[i] = false
			}
		}
		if over := total() - a.width; over > 0 {
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
		if a.width > 0 {
			line = human.Cut(line, a.width)
		}
		if n == 0 {
			a.stdout.Println(a.bold(line))
			continue
		}
		a.stdout.Println(line)
	}
}

// textWidth is how wide a paragraph may be: as the terminal, and without one
// as given.
func (a *app) textWidth(otherwise int) int {
	if a.width > 0 {
		return max(a.width, 20)
	}
	return otherwise
}

// linesLeft is how many lines the terminal has below those printed so far, with
// one for the prompt; many where there is no terminal.
func (a *app) linesLeft() int {
	if a.height == 0 {
		return math.MaxInt32
	}
	return a.height - 1 - a.stdout.Lines()
}

// linesOf is how many lines a text takes that is printed as one.
func (a *app) linesOf(text string) int {
	if a.width == 0 {
		return 1
	}
	return max(1, (human.Width(text)+a.width-1)/a.width)
}

// prose prints a sentence, in as many lines as it takes on the terminal; those
// after the first are indented.
func (a *app) prose(text string) { a.headed("", text, 0) }

// headed prints a sentence behind its heading.
func (a *app) headed(head, text string, indent int) {
	if a.width == 0 {
		if head != "" {
			a.stdout.Printf("%s  %s\n", a.bold(head), text)
		} else {
			a.stdout.Println(text)
		}
		return
	}
	start := human.Width(head)
	if head != "" {
		start += 2
	}
	// The first line has less room: what stands for the heading is one word.
	for i, line := range human.Wrap(strings.Repeat("x", start)+visible.Text(text), a.textWidth(0)-indent) {
		switch {
		case i > 0:
			a.stdout.Println(strings.Repeat(" ", indent) + line)
		case head == "":
			a.stdout.Println(line)
		default:
			a.stdout.Printf("%s  %s\n", a.bold(head), line[start:])
		}
	}
}

// labelled prints a text behind a label; its further lines stand below it. Where
// a word is longer than there is room, all of the text stands below the label.
func (a *app) labelled(label, text string) {
	indent := human.Width(label)
	lines := []string{text}
	if a.width > 0 {
		lines = human.Wrap(visible.Text(text), max(a.width-indent, 12))
	}
	for _, line := range lines {
		if blank := strings.TrimRight(label, " "); a.width > 0 && indent > 2 && indent+human.Width(line) > a.width {
			if blank != "" {
				a.stdout.Println(blank)
			}
			a.labelled("  ", text)
			return
		}
	}
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", indent)
		}
		a.stdout.Println(label + line)
	}
}

// course puts the small charts of gauges into the last column: as wide as the
// terminal leaves room for, where that says anything.
func (a *app) course(rows [][]string, charts []chartOf) {
	last := len(rows[0]) - 1
	room := sparkPoints
	if a.width > 0 {
		taken := 0
		for i := range last {
			widest := 0
			for _, r := range rows {
				widest = max(widest, human.Width(r[i]))
			}
			taken += widest + 2
		}
		room = min(max(a.width-taken, 0), room)
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
