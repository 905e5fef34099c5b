package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tachograph/config"
)

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

func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.3gs", d.Seconds())
	}
	return config.FormatDuration(d.Truncate(time.Second))
}
