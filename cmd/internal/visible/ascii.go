package visible

import (
	"runtime"
	"strings"
	"unicode"
)

// drawn are the characters that the programs themselves print, with their replacements.
var drawn = map[rune]byte{
	'▁': '_', '▂': '.', '▃': ':', '▄': '-', '▅': '=', '▆': '+', '▇': '*', '█': '#', '░': ':',
	'┤': '|', '┌': '+', '┐': '+', '└': '`', '┘': '+', '▸': '>', '▾': 'v', '│': '|', '├': '|', '─': '-', '┬': '+', '┴': '+', '┼': '+', '…': '~', '←': '<', '→': '>', '°': ' ', 'µ': 'u', '−': '-', '·': '.', '×': 'x',
}

// UTF8 reports whether the locale's encoding is UTF-8. Without a locale, it is on a Mac.
func UTF8(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return runtime.GOOS == "darwin"
}

// ASCII returns s in ASCII, as wide as before. Characters that the programs draw are replaced by
// the nearest ASCII ones, and others' characters by question marks.
func ASCII(s string) string { return string(appendASCII(nil, s)) }

// appendASCII appends s in ASCII, as wide as before.
func appendASCII(b []byte, s string) []byte {
	for _, r := range s {
		c, known := drawn[r]
		switch {
		case r < 0x80:
			b = append(b, byte(r))
		case known:
			b = append(b, c)
		case r >= 0x2800 && r < 0x2900:
			b = append(b, braille(r))
		case unicode.In(r, unicode.Mn, unicode.Me):
		default:
			b = append(b, '?')
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0xff01 && r <= 0xff60 {
				b = append(b, '?')
			}
		}
	}
	return b
}

// braille returns the nearest ASCII character to a braille pattern, by where most of its dots
// are.
func braille(r rune) byte {
	const upper, lower = 0x01 | 0x02 | 0x08 | 0x10, 0x04 | 0x20 | 0x40 | 0x80
	switch dots := r - 0x2800; {
	case dots == 0:
		return ' '
	case dots&lower == 0:
		return '\''
	case dots&upper == 0:
		return '.'
	}
	return ':'
}
