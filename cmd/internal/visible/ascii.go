package visible

import (
	"runtime"
	"strings"
	"unicode"
)

// drawn are the letters that the programs use themselves.
var drawn = map[rune]byte{
	'▁': '_', '▂': '.', '▃': ':', '▄': '-', '▅': '=', '▆': '+', '▇': '*', '█': '#', '░': ':',
	'┤': '|', '┌': '+', '┐': '+', '└': '`', '┘': '+', '│': '|', '├': '|', '─': '-', '┬': '+', '┴': '+', '┼': '+', '…': '~', '←': '<', '°': ' ', 'µ': 'u', '−': '-', '·': '.', '×': 'x',
}

// UTF8 reports whether the locale's letters are those of UTF-8. Without a locale a
// Mac's are.
func UTF8(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return runtime.GOOS == "darwin"
}

// ASCII is s in letters of ASCII, in as many columns: what the programs draw becomes
// the nearest there is, and what strangers wrote a question mark.
func ASCII(s string) string { return string(appendASCII(nil, s)) }

// appendASCII writes s in letters of ASCII, in as many columns.
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

// braille is the nearest to a letter of dots, by where most of them stand.
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
