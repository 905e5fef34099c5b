package machine

import (
	"fmt"
	"testing"

	"tachograph/sample/metric"
)

// TestSameAgain wants the same values of two machines, also of one that left
// out what came before, and that counters of what stays never fall.
func TestSameAgain(t *testing.T) {
	const period, days = 120, 3
	one, other, late := Invent(1, 20, 10, period), Invent(1, 20, 10, period), Invent(1, 20, 10, period)
	late.SkipTo(period * 1e9 * 3 / 2)
	last := make(map[string]uint64)
	stayed := 0
	for n := range period * days {
		a, pa := one.Next()
		b, pb := other.Next()
		text := show(a) + show(pa)
		if text != show(b)+show(pb) {
			t.Fatalf("second %d differs", n)
		}
		if n >= period*3/2 {
			c, pc := late.Next()
			if text != show(c)+show(pc) {
				t.Fatalf("second %d differs where the ones before were left out", n)
			}
		}
		if (pa != nil) != (n%10 == 0) {
			t.Fatalf("second %d: processes %v", n, pa != nil)
		}
		for _, tick := range []*metric.Tick{a, pa} {
			stayed += neverFalls(t, tick, last)
		}
	}
	if stayed < 10*period {
		t.Errorf("%d readings of counters that had been there before", stayed)
	}
}

func show(t *metric.Tick) string {
	if t == nil {
		return ""
	}
	text := fmt.Sprint(t.At)
	for _, b := range t.Blocks {
		for _, in := range b.Rows {
			if in != nil {
				text += fmt.Sprint(*in)
			}
		}
		text += fmt.Sprint(b.Cols)
	}
	return text
}

func neverFalls(t *testing.T, tick *metric.Tick, last map[string]uint64) (seen int) {
	if tick == nil {
		return 0
	}
	for _, b := range tick.Blocks {
		for c, d := range b.Group.Metrics {
			for i, in := range b.Rows {
				if d.Sem != metric.Counter {
					continue
				}
				k := d.Name
				if in != nil {
					k += " " + in.Key
				}
				if v, ok := last[k]; ok {
					if seen++; b.Cols[c].Bits[i] < v {
						t.Fatalf("%s fell from %d to %d", k, v, b.Cols[c].Bits[i])
					}
				}
				last[k] = b.Cols[c].Bits[i]
			}
		}
	}
	return seen
}
