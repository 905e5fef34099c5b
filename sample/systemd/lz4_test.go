package systemd

import (
	"bytes"
	"strings"
	"testing"
)

// TestLZ4 unpacks blocks written by hand; those of the fixtures were written by journald's own
// compressor.
func TestLZ4(t *testing.T) {
	long := strings.Repeat("a", 15+255+3)
	for _, c := range []struct{ packed, want string }{
		{"\x10x", "x"},
		{"\x50hello", "hello"},
		{"\xf0\xff\x03" + long, long},
		{"\x11a\x01\x00\x10b", "aaaaaab"},
		{"\x34abc\x03\x00\x10.", "abcabcabcab."},
		{"\x1fa\x01\x00\xff\x00\x10z", strings.Repeat("a", 1+4+15+255) + "z"},
	} {
		for limit := 1; limit < len(c.want)+3; limit++ {
			got, err := appendLZ4([]byte("ab"), []byte(c.packed), limit)
			if want := "ab" + c.want[:min(limit, len(c.want))]; err != nil || string(got) != want {
				t.Fatalf("%q to %d: %q, %v", c.packed, limit, got, err)
			}
		}
		for n := range len(c.packed) {
			if got, err := appendLZ4(nil, []byte(c.packed[:n]), 1000); err == nil && !strings.HasPrefix(c.want, string(got)) {
				t.Fatalf("%q cut at %d: %q", c.packed, n, got)
			}
		}
	}
	for _, bad := range []string{"", "\x11a\x02\x00", "\x11a\x00\x00", "\x01\x01\x00", "\xf0\xff\xff", "\x11a\x01", "\x50hell"} {
		if got, err := appendLZ4([]byte("before"), []byte(bad), 100); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func FuzzLZ4(f *testing.F) {
	f.Add([]byte("\x34abc\x03\x00\x10."), uint16(100))
	f.Add([]byte("\xf0\xff\xff\xff\x00"), uint16(65535))
	f.Fuzz(func(t *testing.T, packed []byte, limit uint16) {
		out, err := appendLZ4(nil, packed, int(limit))
		if len(out) > int(limit) {
			t.Fatalf("%d bytes, at most %d were asked for", len(out), limit)
		}
		less, errLess := appendLZ4(nil, packed, int(limit)/2)
		if err == nil && (errLess != nil || !bytes.HasPrefix(out, less)) {
			t.Fatalf("less of it is something else: %v", errLess)
		}
	})
}
