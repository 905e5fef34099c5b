package trigger

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/config"
	"tachograph/store"
	"tachograph/store/rewrite"
)

// TestPreparedIncidents shows the ticks of recorded incidents to triggers, as if
// they were being read. Whatever is there fires once, and nothing else does.
func TestPreparedIncidents(t *testing.T) {
	const runaway = `
[[trigger]]
name = "runaway process"
when = "rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 60%"
for = "45s"
cool_down = "1h"
stacks = { for = "5s", of = "process" }
`
	all, err := filepath.Glob("../../../testdata/incidents/*/incident.json")
	if err != nil || len(all) == 0 {
		t.Fatalf("no incidents: %v", err)
	}
	// The defaults, and a runaway process that is told sooner than after five minutes:
	// the incidents are short.
	want := map[string][]string{
		"runaway-loop": {"runaway process: 000102 pricecalc"},
		"swap-storm":   {"memory pressure: 10 second: kernel.all.pressure.memory.full.avg[10 second] > 10%"},
		"memory-hog":   {"runaway process: 002210 tilerender", "memory pressure of macOS: kern.memorystatus_vm_pressure_level >= 2"},
		"thermal":      {"runaway process: 002340 reelencode"},
	}
	for _, path := range all {
		dir := filepath.Dir(path)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Parse("f.toml", runaway)
			if err != nil {
				t.Fatal(err)
			}
			r, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			set, err := Compile(cfg, r.Metrics())
			if err != nil {
				t.Fatal(err)
			}
			w := New(set, Actions{})
			var told []string
			for it, err := range rewrite.Read(rewrite.ReadOptions{NoEvents: true}, dir) {
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range w.Look(it.Tick, 0) {
					told = append(told, ev.Text)
				}
			}
			if !slices.EqualFunc(told, want[name], strings.HasPrefix) {
				t.Errorf("told:\n%s\nwant, once each:\n%s", strings.Join(told, "\n"), strings.Join(want[name], "\n"))
			}
		})
	}
}
