package follow

import (
	"strings"
	"testing"

	"tachograph/sample/metric"
)

func TestPositions(t *testing.T) {
	some := Position{Archive: "00ff10203040506070809a0b0c0d0e0f", Churn: 70000, Events: 12}
	some.Ticks[metric.Fast] = 86_400_000_000_017
	some.Ticks[metric.Process] = 86_395_000_000_000
	named := Position{Archive: "by hand"}
	named.Ticks[metric.Static] = -5
	every := some
	for c := range every.Ticks {
		every.Ticks[c] = 86_400_000_000_017 + int64(c)
	}
	last := Position{Archive: "AB"}
	last.Ticks[metric.NumClasses-1] = 1
	for _, p := range []Position{{}, some, named, every, last, {Archive: "AB"}} {
		token := p.String()
		got, err := ParsePosition(token)
		if err != nil || got != p {
			t.Errorf("%q became %+v, %v", token, got, err)
		}
		if strings.Trim(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			t.Errorf("%q has other letters", token)
		}
	}
	if n := len(some.String()); n > 64 {
		t.Errorf("a token has %d letters", n)
	}
}

func TestTokensThatAreNone(t *testing.T) {
	good := Position{Archive: "00ff10203040506070809a0b0c0d0e0f", Events: 3}.String()
	for _, token := range []string{"x", "1", "1!", "2" + good[1:], good + "A", good[:len(good)-3], good + "\n", strings.Repeat("1", 4000)} {
		if p, err := ParsePosition(token); err == nil {
			t.Errorf("%q is taken for %+v", token, p)
		} else if len(err.Error()) > 200 {
			t.Errorf("the refusal has %d letters", len(err.Error()))
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add(Position{Archive: "00ff", Events: 3, Ticks: [metric.NumClasses]int64{5, 7}}.String())
	f.Add(Position{Archive: "00ff", Ticks: [metric.NumClasses]int64{metric.Fast: 5, metric.Network: 7}}.String())
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := ParsePosition(token); err == nil && p.String() != token {
			t.Errorf("%q became %q", token, p.String())
		}
	})
}
