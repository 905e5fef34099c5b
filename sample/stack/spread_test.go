package stack

import (
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	var s Spread
	if s.String() != "" {
		t.Errorf("nothing is %q", s.String())
	}
	for _, d := range []time.Duration{0, 10 * time.Microsecond, 10*time.Microsecond + 1, 99 * time.Microsecond, 100 * time.Microsecond, 50 * time.Millisecond, time.Minute} {
		s.Add(d)
	}
	const want = "10000:2 20000:1 100000:2 50000000:1 longer:1"
	if got := s.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if again, ok := ReadSpread(want); !ok || again != s {
		t.Errorf("read again: %v, %v", again, ok)
	}
	for _, text := range []string{"", "10000", "10000:0", "10000:-1", "10000:x", "12345:1", "10000:1 10000:2", "longer:1 shorter:2", "10000:99999999999999999999"} {
		if s, ok := ReadSpread(text); ok || s != (Spread{}) {
			t.Errorf("%q was read: %v", text, s)
		}
	}
}

// Whatever an archive says, a spread that was read is written as the same.
func FuzzReadSpread(f *testing.F) {
	f.Add("10000:2 20000:1 longer:1")
	f.Add("10000:18446744073709551615")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := ReadSpread(text)
		if again, still := ReadSpread(s.String()); still != ok || again != s {
			t.Errorf("%q: %v, then %v", text, s, again)
		}
	})
}
