package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/config"
)

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

// shortened returns s in at most width columns: its beginning, or its end.
func shortened(s string, width int, end bool) string {
	switch {
	case wide(s) <= width || leading(s) == len(s):
		return s
	case end:
		return "…" + tail(s, width-1)
	}
	return head(s, max(width-1, leading(s))) + "…"
}

// leading returns the length of the number at the beginning of a text.
func leading(s string) int {
	return len(s) - len(strings.TrimLeft(s, "-0123456789."))
}

// wide returns how many columns of a terminal s takes.
func wide(s string) int { return len(visible.ASCII(s)) }

// head returns the beginning of s in at most width columns.
func head(s string, width int) string {
	for i, r := range s {
		if width -= wide(string(r)); width < 0 {
			return s[:i]
		}
	}
	return s
}

// tail returns the end of s in at most width columns.
func tail(s string, width int) string {
	over := wide(s) - width
	for i, r := range s {
		if over <= 0 {
			return s[i:]
		}
		over -= wide(string(r))
	}
	return ""
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// thousands groups the digits of a whole number.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return config.FormatDuration(d.Truncate(time.Second))
}
