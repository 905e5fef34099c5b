package screen

import (
	"bytes"
	"testing"
)

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		page   string
		height int
		want   string
	}{
		{"a\nbb\n", 24, "\x1b[Ha\x1b[K\r\nbb\x1b[K\x1b[J"},
		{"a\nbb\ncc", 2, "\x1b[Ha\x1b[K\r\nbb\x1b[K\x1b[J"},
		{"", 2, "\x1b[H\x1b[K\x1b[J"},
	} {
		if got := frame([]byte(c.page), c.height); !bytes.Equal(got, []byte(c.want)) {
			t.Errorf("%q on %d lines: %q, want %q", c.page, c.height, got, c.want)
		}
	}
}
