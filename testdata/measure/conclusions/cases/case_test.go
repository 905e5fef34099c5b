package cases

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
)

// TestSumsUp wants every total of a recording to be what its parts come to.
func TestSumsUp(t *testing.T) {
	for _, kind := range []string{None, "memory hog", "fork storm"} {
		c, path, err := Make("tuned", 1, 0, kind, "compile", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		sumsUp(t, kind, c, path)
	}
}

// sumsUp wants counters that never fall, and totals that are what their parts come
// to.
func sumsUp(t *testing.T, kind string, c *Case, path string) {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	gains := make(map[string]float64) // by metric
	for run := range r.Select(store.Selection{}) {
		if run.Metric.Sem != metric.Counter {
			continue
		}
		last := math.NaN()
		for i := range run.Wall {
			x := run.At(i).Number()
			if x < last {
				t.Fatalf("%s: %s fell from %v to %v", kind, run.Metric.Name, last, x)
			}
			if x == x {
				last = x
			}
		}
		gain := last - run.At(0).Number()
		if run.Instance != nil && run.Metric.Indom == "process" && run.Instance.Began() >= c.At(0) {
			gain = last
		}
		if gain == gain {
			gains[run.Metric.Name] += gain
		}
	}
	r.Close()
	all := 0.0
	for _, part := range []string{"user", "nice", "sys", "idle", "wait.total", "steal", "irq.soft"} {
		all += gains["kernel.all.cpu."+part]
		if x, y := gains["kernel.all.cpu."+part], gains["kernel.percpu.cpu."+part]; math.Abs(x-y) > 100 {
			t.Errorf("%s: %s is %v ms of all processors, %v ms of each", kind, part, x, y)
		}
	}
	if want := float64(c.M.Cores*(c.Seconds-1)) * 1000; math.Abs(all-want) > 0.02*want {
		t.Errorf("%s: the processors' times come to %v ms of %v", kind, all, want)
	}
	used := gains["kernel.all.cpu.user"] + gains["kernel.all.cpu.nice"] + gains["kernel.all.cpu.sys"]
	if of := gains["proc.psinfo.utime"] + gains["proc.psinfo.stime"]; math.Abs(used-of) > 0.15*used {
		t.Errorf("%s: processors were used for %v ms, by processes %v ms", kind, used, of)
	}
	if x, y := gains["disk.all.write_bytes"], gains["disk.dev.write_bytes"]; math.Abs(x-y) > 0.01*x+10 {
		t.Errorf("%s: %v KB written, %v KB by disks", kind, x, y)
	}
}

// TestSameAgain wants the same recording of the same seed, and another of another.
func TestSameAgain(t *testing.T) {
	read := func(seed uint64) uint64 {
		_, path, err := Make("tuned", seed, 0, "runaway", "polling", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		h := fnv.New64a()
		for run := range r.Select(store.Selection{}) {
			fmt.Fprint(h, run.Metric.Name, run.Wall, run.Bits, run.Words)
			if run.Instance != nil {
				fmt.Fprint(h, run.Instance.Name, run.Instance.Labels)
			}
		}
		for e := range r.Events(0, 0) {
			fmt.Fprint(h, e.Event)
		}
		return h.Sum64()
	}
	first := read(3)
	if first != read(3) {
		t.Error("the same seed makes another recording")
	}
	if first == read(4) {
		t.Error("another seed makes the same recording")
	}
}
