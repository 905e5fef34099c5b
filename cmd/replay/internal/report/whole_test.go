package report

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Many processes that begin just before they are read, and end before they are read
// again, bring their whole time with one reading. Two processors have done no more than
// they can at any time all the same, and nothing is lost.
func TestProcessesAreNoMoreThanTheProcessors(t *testing.T) {
	const sweeps, each, used = 60, 10, 180 // milliseconds
	var text strings.Builder
	text.WriteString(`start 2026-11-20T03:00:00Z
host h cpus=2
interval process 10s
metric proc.psinfo.utime u64 counter process process millisec
metric proc.psinfo.stime u64 counter process process millisec
`)
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	keys, ticks := "", "tick process 0s\n  proc.psinfo.utime[1] 0\n  proc.psinfo.stime[1] 0\n"
	for n := range sweeps {
		at := 10 * (n + 1)
		ticks += fmt.Sprintf("tick process %ds\n  proc.psinfo.utime[1] %d\n  proc.psinfo.stime[1] 0\n", at, 9900*(n+1))
		for i := range each {
			pid := 1000 + n*each + i
			began := start.Add(time.Duration(at-1) * time.Second)
			keys += fmt.Sprintf("instance process %d %06d short pid=%d parent=1 start=%s\n", pid, pid, pid, began.Format(time.RFC3339))
			ticks += fmt.Sprintf("  proc.psinfo.utime[%d] %d\n  proc.psinfo.stime[%d] 0\n", pid, used, pid)
		}
	}
	text.WriteString("boot b1 -1h\ninstance process 1 000001 steady pid=1 parent=0 start=2026-11-20T02:14:00Z\n" + keys + ticks)
	a := described(t, text.String())
	for _, columns := range []int{0, 100} {
		u := unpack(t, collect(t, a, Request{Columns: columns}))
		p := u.plot("processes-cpu")
		if p == nil {
			t.Fatal("no plot")
		}
		all, total, columnsSeen := map[int]float64{}, map[string]float64{}, 0
		for _, l := range p.Series {
			for k, x := range u.numbers(l.Mean) {
				if x == x {
					all[k] += x
					total[l.Name] += x * u.Step / 1000
				}
			}
		}
		for k, x := range all {
			columnsSeen++
			if x > 2+1e-6 {
				t.Errorf("%d columns, column %d: %g processors of 2", u.Columns, k, x)
			}
		}
		if columnsSeen == 0 {
			t.Error("nothing is drawn")
		}
		if want := float64(sweeps*each*used) / 1000; total["short"] < want*0.95 || total["short"] > want*1.05 {
			t.Errorf("%d columns: the short ones used %g s, want %g s", u.Columns, total["short"], want)
		}
	}
}

// What is left over where even the neighbours are full is of the time before.
func TestRestOfAWhole(t *testing.T) {
	for name, c := range map[string]struct {
		sums    [][]float64
		covered []float64
		want    [][]float64
	}{
		"fits":             {[][]float64{{1, 2}, {1, 0}}, []float64{1, 1}, [][]float64{{1, 2}, {1, 0}}},
		"to the left":      {[][]float64{{0, 0, 2}, {0, 0, 2}}, []float64{1, 1, 1}, [][]float64{{0, 1, 1}, {0, 1, 1}}},
		"to the right":     {[][]float64{{4, 0, 0}}, []float64{1, 1, 1}, [][]float64{{2, 2, 0}}},
		"not over a gap":   {[][]float64{{0, 0, 3, 0}}, []float64{1, 0, 1, 1}, [][]float64{{0, 0, 2, 1}}},
		"of half a column": {[][]float64{{1, 1.5}}, []float64{1, 0.5}, [][]float64{{1.5, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			level(c.sums, c.covered, 2)
			for i := range c.want {
				for k := range c.want[i] {
					if !near(c.sums[i][k], c.want[i][k]) {
						t.Errorf("%v, want %v", c.sums, c.want)
					}
				}
			}
		})
	}
}
