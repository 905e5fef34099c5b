package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tachograph/cmd/internal/visible"
)

// onTerminal finds out how wide the terminal is that a prints to, and whether its
// locale has more letters than those of ASCII.
func (a *app) onTerminal(out io.Writer, env func(string) string) {
	if f, ok := out.(*os.File); ok {
		a.width = columns(f)
	}
	a.ascii = !visible.UTF8(env)
}

// toRead says that people read what is printed, not programs: it keeps to the
// letters of the locale.
func (a *app) toRead() {
	for _, w := range []io.Writer{a.out, a.err} {
		if v, ok := w.(*visible.Writer); ok && a.ascii {
			v.ASCII()
		}
	}
}

// writeFacts writes names and what is to say of them side by side, all behind lead.
// On a terminal, of width columns, lines are broken between words; what has a word
// that is longer than there is room stands below its name.
func writeFacts(b *strings.Builder, facts [][2]string, lead string, width int) {
	indent := 0
	for _, f := range facts {
		indent = max(indent, len(f[0]))
	}
	for _, f := range facts {
		name := fmt.Sprintf("%s%-*s", lead, indent, f[0])
		beside := len(name)
		if width == 0 {
			b.WriteString(name + f[1] + "\n")
			continue
		}
		if longest(f[1]) > width-beside {
			if below := strings.TrimRight(name, " "); below != "" {
				b.WriteString(below + "\n")
			}
			b.WriteString(indented(f[1], lead+"  ", width) + "\n")
			continue
		}
		b.WriteString(name + strings.TrimLeft(indented(f[1], strings.Repeat(" ", beside), width), " ") + "\n")
	}
}

// indented breaks text into lines of at most so many columns: between words, and in
// words that are longer.
func indented(text, indent string, width int) string {
	room := max(width-len(indent), 8)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && wide(line)+1+wide(word) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		for line == "" && wide(word) > room {
			part := head(word, room)
			lines, word = append(lines, part), word[len(part):]
		}
		line += word
	}
	return indent + strings.Join(append(lines, line), "\n"+indent)
}

// longest is how wide the widest word of a text is.
func longest(text string) int {
	widest := 0
	for _, word := range strings.Fields(text) {
		widest = max(widest, wide(word))
	}
	return widest
}

// writeColumns writes a table whose first row is its heading, to the right. On a
// terminal of width columns those go that have no room, from the right.
func writeColumns(b *strings.Builder, rows [][]string, width int) {
	t := table{head: rows[0], rows: rows[1:], right: true, cut: []int{0}}
	for i := range slices.Backward(rows[0][1:]) {
		t.drop = append(t.drop, i+1)
	}
	_ = t.write(b, width) // A builder takes everything.
}

func millis(format string, seconds float64) string {
	return fmt.Sprintf(format+" ms", seconds*1e3)
}
