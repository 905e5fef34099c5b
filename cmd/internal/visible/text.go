// Package visible makes text from others safe to print.
//
// Any user may choose the name of a process, a directory, a device or a host, and archives may
// be of unknown origin. Some characters in such a name are commands to a terminal: they write to
// the clipboard, rename the window or change the direction of text. Both programs pass
// everything they print through this package, which replaces such characters with visible
// escapes: \x1b for escape, \n for the end of a line, \u202e for a change of direction, \xff for
// a byte that is not text. Characters beyond 16 bits become a pair of escapes as in JSON, so
// that a line of JSON stays one line.
package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s as one line, with all characters escaped that do more than be shown.
func Text(s string) string { return escape(s, false) }

// Lines is like Text, but keeps line ends and tabs.
func Lines(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	if isVisible(s) {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case lines && (r == '\n' || r == '\t'), !(r == utf8.RuneError && n == 1) && !Acts(r):
			b = append(b, s[i:i+n]...)
		default:
			b = appendEscape(b, r, s[i:i+n])
		}
		i += n
	}
	return string(b)
}

func isVisible(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return c >= utf8.RuneSelf && utf8.ValidString(s[i:]) && strings.IndexFunc(s[i:], Acts) < 0
		}
	}
	return true
}

// Acts reports whether r does something other than being shown: it is a control character,
// changes the direction of text, ends a line, or cannot be seen.
func Acts(r rune) bool {
	switch {
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return true
	case r < 0xa0:
		return false
	case r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef:
		return true // These are noncharacters by definition.
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const hex = "0123456789abcdef"

// appendEscape appends an escape for r, or for a single byte raw that is not a character.
func appendEscape(b []byte, r rune, raw string) []byte {
	switch {
	case r == '\n':
		return append(b, '\\', 'n')
	case r == '\t':
		return append(b, '\\', 't')
	case r == '\r':
		return append(b, '\\', 'r')
	case len(raw) == 1 && r != 0x7f: // JSON holds 0x7f unescaped.
		return append(b, '\\', 'x', hex[raw[0]>>4], hex[raw[0]&15])
	}
	return AppendJSON(b, r)
}

// AppendJSON appends r as a JSON escape.
func AppendJSON(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return unit(unit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return unit(b, r)
}

func unit(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
