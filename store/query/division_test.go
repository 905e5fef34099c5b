package query

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the zones' rules do not depend on the machine
)

// The steps of days of any zone follow each other without a hole, and every
// instant belongs to the one that has it between its edges.
func TestDivisionIntoDays(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, days := range []int64{1, 2, 7} {
				from := time.Date(2010+rnd.IntN(16), time.Month(1+rnd.IntN(12)), 1+rnd.IntN(28), rnd.IntN(24), 0, 0, rnd.IntN(3), zone).UnixNano()
				d := Request{Step: days * aDay, Zone: zone}.division(from)
				if d.edge(0) > from || d.edge(1) <= from {
					t.Errorf("%s: the first step, %v to %v, does not begin around %v", name, time.Unix(0, d.edge(0)), time.Unix(0, d.edge(1)), time.Unix(0, from))
				}
				for n := int64(1); n < 800; n++ {
					lo, hi := d.edge(n-1), d.edge(n)
					if length := hi - lo; length < (days-1)*aDay || length > days*aDay+int64(25*time.Hour)-aDay {
						t.Fatalf("%s: step %d is %v long", name, n, time.Duration(length))
					}
					for _, wall := range []int64{lo + 1, lo + rnd.Int64N(hi-lo) + 1, hi} {
						if got := d.number(wall); got != n {
							t.Fatalf("%s: %v is in step %d, not %d", name, time.Unix(0, wall), got, n)
						}
					}
					if at := time.Unix(0, hi).In(zone); days == 7 && at.Weekday() != time.Monday {
						t.Fatalf("%s: a week begins on %v", name, at)
					}
				}
			}
		})
	}
}
