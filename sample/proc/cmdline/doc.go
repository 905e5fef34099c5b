// Package cmdline decides how much of a process's command line may be kept: all of it, all but
// what looks like a secret, or nothing. It never looks at the environment.
package cmdline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Mode is how much of the arguments is kept.
type Mode uint8

const (
	Off Mode = iota
	Redacted
	Full
)

var modeNames = []string{"off", "redacted", "full"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode is the inverse of String.
func ParseMode(s string) (Mode, error) {
	for i, n := range modeNames {
		if n == s {
			return Mode(i), nil
		}
	}
	return Off, fmt.Errorf("args = %q: must be one of %s", s, strings.Join(modeNames, ", "))
}

// longest is the length at which a command line is cut. Kernels allow megabytes, which would be
// too long to be read by people.
const longest = 4096

// Render returns the string that is kept of argv.
func Render(m Mode, argv []string) string {
	switch m {
	case Off:
		return ""
	case Redacted:
		argv = Redact(argv)
	}
	return Bounded(strings.Join(argv, " "), longest)
}

// Bounded returns a printable text of at most so many bytes. A text that was cut ends in "…".
func Bounded(s string, most int) string {
	if len(s) <= most {
		s = Printable(s)
	}
	if len(s) <= most {
		return s
	}
	// A byte that is no text takes three.
	s = Printable(s[:most])
	const more = "…"
	end := min(len(s), most-len(more))
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}

// Printable replaces what would disturb a terminal or is not text: a process may give itself
// any name.
func Printable(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Split cuts the NUL-terminated arguments that Linux shows in /proc/PID/cmdline. A process that
// has overwritten its arguments may leave one long text, padded with NULs.
func Split(text []byte) []string {
	s := strings.TrimRight(string(text), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}
