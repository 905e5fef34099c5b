package machine

import (
	"fmt"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// TestSameAgain wants the same values of two machines, also of one that left
// out what came before, and that counters of what stays never fall.
func TestSameAgain(t *testing.T) {
	const period, days = 40, 3
	for _, dataset := range []string{"workstation", "server", "month", "../../incidents/thermal"} {
		o := Options{System: 1, Process: 10, Round: period, Processes: 20, Seed: 1, Day: days * period * time.Second}
		open := func() *Machine {
			m, err := Open(dataset, o)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		one, other, late := open(), open(), open()
		late.SkipTo(period * 1e9 * 3 / 2)
		last := make(map[string]uint64)
		stayed, boot, at := 0, 0, one.Start()
		for one.Peek().Ran < days*one.Day(o.Day) {
			now := one.Peek()
			if now.Boot != boot {
				clear(last)
				boot = now.Boot
			} else if now.At.Wall < at.Wall || now.At.Awake < at.Awake || now.At.Cont < at.Cont {
				t.Fatalf("%s: %v after %v", dataset, now.At, at)
			}
			at = now.At
			a := one.Next()
			text := show(a)
			if text != show(other.Next()) {
				t.Fatalf("%s: the tick at %v differs", dataset, now)
			}
			if now.Ran >= period*1e9*3/2 {
				if text != show(late.Next()) {
					t.Fatalf("%s: the tick at %v differs where the ones before were left out", dataset, now)
				}
			}
			if a.Class == metric.Process && now.Ran%1e10 != 0 && dataset != "month" && one.Host.Platform == "linux" {
				t.Fatalf("%s: processes at %v", dataset, now)
			}
			stayed += neverFalls(t, a, last)
		}
		if stayed < 10*period {
			t.Errorf("%s: %d readings of counters that had been there before", dataset, stayed)
		}
		if want := map[string]int{"month": 1}[dataset]; boot != want {
			t.Errorf("%s: %d boots, want %d", dataset, boot, want)
		}
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
				if miss := b.Cols[c].Miss; d.Sem != metric.Counter || miss != nil && miss[i] != metric.Present {
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
