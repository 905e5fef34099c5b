package main

import (
	"io"
	"strings"
)

// table prints rows in columns that fit a terminal.
type table struct {
	head []string
	rows [][]string
	// right aligns all columns to the right.
	right bool
	// drop are the columns to leave out if the terminal is too narrow, in this order.
	drop []int
	// cut are the columns of names and sentences, which may be cut at their end; metrics, in
	// the first column, are cut at their beginning. A number at the beginning is never cut.
	cut []int
	// notes are sentences after rows, or below them if there is no space.
	notes map[int]string
}

// leastNames are the widths to which names may be cut: before columns are dropped, and if that
// is not enough. Metrics keep more before columns are dropped, as they distinguish the rows.
var leastNames = []int{12, 6}

const leastMetric = 24

// write writes the table for a terminal of width columns, 0 for none.
func (t *table) write(out io.Writer, width int) error {
	widths, least := t.measure(width)
	var b strings.Builder
	for n, r := range append([][]string{t.head}, t.rows...) {
		line := ""
		for i, s := range r {
			if widths[i] == 0 {
				continue
			}
			if width > 0 && least[i] >= 0 {
				s = shortened(s, widths[i], i == 0 && !t.right)
			}
			blanks := strings.Repeat(" ", max(widths[i]-wide(s), 0))
			switch {
			case t.right && width > 0 && line == "":
				line = blanks + s
			case t.right:
				line += "  " + blanks + s
			case i < len(r)-1:
				line += s + blanks + "  "
			default:
				line += s
			}
		}
		if width > 0 {
			line = strings.TrimRight(line, " ")
		}
		note := t.notes[n-1]
		switch {
		case n == 0 || note == "":
		case width == 0 || wide(line)+2+wide(note) <= width:
			line += "  " + note
		default:
			line += "\n" + indented(note, "    ", width)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// measure returns the widths of the columns, 0 for those to drop, and the least widths of those
// that can be cut, -1 for others.
func (t *table) measure(width int) (widths, least []int) {
	widths, numbers := make([]int, len(t.head)), make([]int, len(t.head))
	least = make([]int, len(t.head))
	for i := range least {
		least[i] = -1
	}
	for _, r := range append([][]string{t.head}, t.rows...) {
		for i, s := range r {
			widths[i] = max(widths[i], wide(s))
			if n := leading(s); n > 0 {
				numbers[i] = max(numbers[i], min(n+1, len(s)))
			}
		}
	}
	if width == 0 {
		return widths, least
	}
	over := func() int {
		total := -2
		for i, w := range widths {
			if w == 0 {
				continue
			}
			if total += w + 2; least[i] >= 0 {
				total -= max(w-least[i], 0)
			}
		}
		return total - width
	}
	for pass, name := range leastNames {
		for _, i := range t.cut {
			least[i] = max(name, numbers[i])
			if i == 0 && pass == 0 && !t.right {
				least[i] = leastMetric
			}
		}
		for _, i := range t.drop {
			if pass == 0 && over() > 0 {
				widths[i] = 0
			}
		}
		for _, i := range t.cut {
			widths[i] = max(widths[i]-max(t.total(widths)-width, 0), min(widths[i], least[i]))
		}
	}
	return widths, least
}

// total returns the width of the table.
func (t *table) total(widths []int) int {
	total := -2
	for _, w := range widths {
		if w > 0 {
			total += w + 2
		}
	}
	return total
}
