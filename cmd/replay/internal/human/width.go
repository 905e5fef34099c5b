package human

import (
	"strings"

	"github.com/rivo/uniseg" // which letters combine and which are wide fills tables that others keep
)

// Width is how many columns of a terminal s takes: wide letters two, those that
// combine with the one before none.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// Cut is s in at most width columns, with a sign where it was cut. No letter
// is cut in two.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	var b strings.Builder
	have, state := 0, -1
	for len(s) > 0 {
		var letter string
		var w int
		letter, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if have+w > width-1 {
			break
		}
		have += w
		b.WriteString(letter)
	}
	return b.String() + "…"
}

// Pad fills s with blanks up to width: behind it, or before it.
func Pad(s string, width int, before bool) string {
	blanks := strings.Repeat(" ", max(width-Width(s), 0))
	if before {
		return blanks + s
	}
	return s + blanks
}

// Wrap breaks a text between words.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && Width(line)+1+Width(w) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
