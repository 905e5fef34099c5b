package query

import (
	"testing"
	"time"
)

func TestHowProcessesEnd(t *testing.T) {
	for how, want := range map[string][2]bool{ // failed, crashed
		"":               {false, false},
		"exit 0":         {false, false},
		"exit 11":        {true, false},
		"signal 15":      {false, false},
		"signal 9":       {true, false},
		"signal 3":       {true, false},
		"signal 11":      {true, true},
		"signal 11 core": {true, true},
		"signal 3 core":  {true, true},
		"signal 6":       {true, true},
	} {
		if got := [2]bool{Failed(how), Crashed(how)}; got != want {
			t.Errorf("%q: failed and crashed are %v, want %v", how, got, want)
		}
	}
}

func TestRhythm(t *testing.T) {
	for _, c := range []struct {
		gaps []int64 // milliseconds
		want time.Duration
	}{
		{nil, 0},
		{[]int64{2000, 2000, 2100, 1900}, 2 * time.Second},
		{[]int64{2000, 9000, 2000, 2000}, 2 * time.Second},
		{[]int64{100, 9000, 2000, 40000}, 0},
		{[]int64{10, 10, 10, 10}, 0}, // commands of a script
	} {
		for i := range c.gaps {
			c.gaps[i] *= int64(time.Millisecond)
		}
		if got := Rhythm(c.gaps); got != c.want {
			t.Errorf("%v: %v, want %v", c.gaps, got, c.want)
		}
	}
}
