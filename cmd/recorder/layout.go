package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tachograph/cmd/internal/visible"
)

// onTerminal finds the width of the terminal that a prints to, and whether its locale has other
// letters than ASCII.
func (a *app) onTerminal(out io.Writer, env func(string) string) {
	if f, ok := out.(*os.File); ok {
		a.width = columns(f)
	}
	a.ascii = !visible.UTF8(env)
}

// toRead says that people read the output, not programs: it then uses only letters that the
// locale has.
func (a *app) toRead() {
	for _, w := range []io.Writer{a.out, a.err} {
		if v, ok := w.(*visible.Writer); ok && a.ascii {
			v.ASCII()
		}
	}
}

// writeFacts writes names and their values side by side, each line beginning with lead. On a
// terminal of width columns it breaks lines between words; a value with a word that is too long
// for the space goes below its name.
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

// indented breaks text into lines of at most width columns: between words, and within words
// that are longer.
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

// longest returns the width of the widest word of a text.
func longest(text string) int {
	widest := 0
	for _, word := range strings.Fields(text) {
		widest = max(widest, wide(word))
	}
	return widest
}

// writeColumns writes a right-aligned table whose first row is its heading. On a terminal of
// width columns it drops columns that do not fit, from the right.
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
