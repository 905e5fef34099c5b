package query_test

import (
	"math"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// The share of the CPU is one of all processors, however the archive knows how
// many there are.
func TestSharesOfAllProcessors(t *testing.T) {
	const load = `
every 10s 0s 10m fast
  kernel.all.cpu.user rate=3000 from=1
  kernel.all.cpu.sys rate=1000 from=1
  kernel.all.cpu.nice rate=0 from=1
`
	for _, c := range []struct {
		name, host, extra string
		want              float64 // share
	}{
		{"counted when the archive began", "host h", "tick constrained 1s\n  hinv.ncpu 8\n", 0.5},
		{"told by the host alone", "host h cpus=16", "", 0.25},
		{"told by both", "host h cpus=16", "tick constrained 1s\n  hinv.ncpu 8\n", 0.5},
		{"more than all, as the clocks have it", "host h", "tick constrained 1s\n  hinv.ncpu 3\n", 1},
		{"told by their time", "host h", "idle", 0.5},
		{"told by nothing", "host h", "", math.NaN()},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "start 2026-11-20T03:00:00Z\n" + c.host + `
interval fast 10s
metric kernel.all.cpu.user u64 counter - fast millisec
metric kernel.all.cpu.sys u64 counter - fast millisec
metric kernel.all.cpu.nice u64 counter - fast millisec
`
			extra, course := c.extra, load
			switch {
			case extra == "idle":
				text += "metric kernel.all.cpu.idle u64 counter - fast millisec\nmetric kernel.all.cpu.irq.soft u64 counter - fast millisec\n"
				extra, course = "", course+"  kernel.all.cpu.idle rate=3500 from=1\n  kernel.all.cpu.irq.soft rate=500 from=1\n"
			case extra != "":
				text += "metric hinv.ncpu u32 discrete - constrained\n"
			}
			parts, err := querytest.Parse(strings.NewReader(text + "boot b1 -1h\n" + extra + course))
			if err != nil {
				t.Fatal(err)
			}
			a := querytest.New(parts...)
			begin := a.Archives()[0].From
			for _, w := range []query.Window{{}, {From: begin + 300*second}} {
				err := query.Digests(a, w, func(d *query.Digest) error {
					if math.Abs(d.CPU-c.want) > 1e-9 || math.IsNaN(d.CPU) != math.IsNaN(c.want) {
						t.Errorf("from %d: the summary says %v, want %v", w.From, d.CPU, c.want)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				list, err := query.Gauges(a, w, 4)
				if math.IsNaN(c.want) && err == nil && len(list) == 0 {
					continue // nobody knows what they are a share of
				}
				if err != nil || len(list) == 0 {
					t.Fatal(list, err)
				}
				if g := list[0]; g.Name != "cpu" || math.Abs(g.Mean-c.want) > 1e-9 {
					t.Errorf("from %d: %s is %v, want %v", w.From, g.Name, g.Mean, c.want)
				}
			}
		})
	}
}

// One boot is one event, also where two archives tell it.
func TestABootAndATurnAreToldOnce(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host h
boot b1 -1h
event 0s boot | the machine was started
event 2s rotate | command
archive
event 2s rotate | command
event 2s boot | the machine was started
boot b2 5m
event 5m boot | the machine was started
`))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range query.SortedEvents(querytest.New(parts...), query.Window{}) {
		n++
	}
	if n != 3 {
		t.Errorf("%d events of two boots and a turn", n)
	}
}
