package main

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"tachograph/cmd/internal/visible"
)

// width is how wide the terminal is that a prints to; 0 when it is none.
func (a *app) width() int {
	if w, ok := a.out.(*visible.Writer); ok {
		if f, ok := w.Unwrap().(*os.File); ok {
			return columns(f)
		}
	}
	return 0
}

// writeFacts writes names and what is to say of them side by side. On a
// terminal, of width columns, lines are broken between words.
func writeFacts(b *strings.Builder, facts [][2]string, width int) {
	indent := 0
	for _, f := range facts {
		indent = max(indent, len(f[0])+2)
	}
	for _, f := range facts {
		text := f[1]
		if width > 0 {
			text = strings.TrimLeft(wrap(text, strings.Repeat(" ", indent), width), " ")
		}
		fmt.Fprintf(b, "%-*s%s\n", indent, f[0], text)
	}
}

// writeColumns writes a table whose first row is its heading, to the right. A
// terminal of width columns shows as many of them, from the left, as it has room
// for.
func writeColumns(b *strings.Builder, rows [][]string, width int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+2)
		}
	}
	shown, total := 0, 0
	for _, w := range widths {
		if total += w; width > 0 && total > width && shown > 0 {
			break
		}
		shown++
	}
	for _, row := range rows {
		for i, cell := range row[:shown] {
			fmt.Fprintf(b, "%*s", widths[i], cell)
		}
		b.WriteByte('\n')
	}
}

func millis(format string, seconds float64) string {
	return fmt.Sprintf(format+" ms", seconds*1e3)
}
