package manual

import (
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"short\nlines stay", "short\nlines stay"},
		{"a paragraph whose line is long\nis filled", "a paragraph whose\nline is long is\nfilled"},
		{"Flags:\n  -a   what it does is long", "Flags:\n  -a   what it does\n       is long"},
		{"a line of text: and then\nmore of it:", "a line of text: and\nthen more of it:"},
		{"a heading that goes on:\nas a paragraph", "a heading that goes\non: as a paragraph"},
		{"Examples:\n  do one --with two three", "Examples:\n  do one --with \\\n      two three"},
		{"Examples:\n  do it 'one two x' then four", "Examples:\n  do it \\\n      'one two x' \\\n      then four"},
		{"a " + strings.Repeat("x", 30), "a\n" + strings.Repeat("x", 30)},
		{"ä ö ü ä ö ü ä ö ü ä", "ä ö ü ä ö ü ä ö ü ä"},
		{"", ""},
	} {
		if got := fit(c.in, 20); got != c.want {
			t.Errorf("%q is\n%s\nand not\n%s", c.in, got, c.want)
		}
	}
}
