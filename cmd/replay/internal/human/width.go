package human

import (
	"strings"

	"github.com/rivo/uniseg" // which letters combine and which are wide fills tables that others keep
)

// Width returns how many columns of a terminal s takes: wide letters take two, letters that
// combine with the previous one take none.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// Cut returns s in at most width columns, with a sign where it was cut. It does not split
// letters.
func Cut(s string, width int) string { return CutAt(s, width, AtEnd) }

// Place is the place where a text is cut: its least important part.
type Place uint8

const (
	AtEnd    Place = iota // of sentences, and of command lines
	AtStart               // of paths, and of names that become more special to the right
	InMiddle              // of what begins with a number and ends with a name
)

// CutAt returns s in at most width columns, with a sign where it was cut.
func CutAt(s string, width int, place Place) string {
	if Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	const sign = "…"
	switch place {
	case AtStart:
		return sign + tail(s, width-1)
	case InMiddle:
		// A number must not be cut: the rest would be another number.
		number := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if number > width-1 {
			return sign + tail(s, width-1)
		}
		begin := max((width-1)/2, number)
		return head(s, begin) + sign + tail(s, width-1-begin)
	}
	return head(s, width-1) + sign
}

// head returns the beginning of s in at most width columns.
func head(s string, width int) string {
	have, state, rest := 0, -1, s
	for len(rest) > 0 {
		_, next, w, then := uniseg.FirstGraphemeClusterInString(rest, state)
		if have+w > width {
			break
		}
		have, rest, state = have+w, next, then
	}
	return s[:len(s)-len(rest)]
}

// tail returns the end of s in at most width columns.
func tail(s string, width int) string {
	over, state, rest := Width(s)-width, -1, s
	for over > 0 && len(rest) > 0 {
		var w int
		_, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		over -= w
	}
	return rest
}

// Pad fills s with blanks up to width, behind or in front of it.
func Pad(s string, width int, before bool) string {
	blanks := strings.Repeat(" ", max(width-Width(s), 0))
	if before {
		return blanks + s
	}
	return s + blanks
}

// Wrap breaks a text between words, and inside words that are longer than a line.
func Wrap(text string, width int) []string {
	width = max(width, 1)
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
		for line == "" && Width(w) > width {
			part := head(w, width)
			if part == "" {
				break // a letter of two columns, and room for one
			}
			lines = append(lines, part)
			w = w[len(part):]
		}
		line += w
	}
	return append(lines, line)
}
