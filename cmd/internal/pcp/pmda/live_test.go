package pmda

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/sample/probe"
)

// thisMachine is the machine that the test runs on, or the simulated Mac.
func thisMachine(t testing.TB) *Machine {
	t.Helper()
	sources, err := platform.Sources(platform.Options{Args: "full"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(sources, Options{
		Rows: func() []*metric.Desc { return catalog.For(platform.Catalog) },
		Now:  platform.Now, Worked: platform.Worked, Usage: platform.Usage, Host: platform.ThisHost(),
		SetThreads: func(patterns []string) error {
			return platform.Reconfigure(sources, platform.Options{Args: "full", Threads: patterns})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Everything that there is either has values or a reason, each once.
func TestFetchOfEverything(t *testing.T) {
	m := thisMachine(t)
	descs := m.Catalog().Descs
	ctx := context.Background()
	for range 2 {
		began := platform.Worked() // not the time, of which a busy machine gives others most
		v, err := m.Fetch(ctx, descs)
		if err != nil {
			t.Fatal(err)
		}
		took := platform.Worked() - began
		seen, processes := make(map[*metric.Desc]int), 0
		for _, b := range v.Blocks {
			if b.Group.Indom == "process" {
				processes = max(processes, len(b.Rows))
			}
			for i, d := range b.Group.Metrics {
				seen[d]++
				if n := len(b.Cols[i].Bits); n != len(b.Rows) {
					t.Errorf("%s has %d values of %d instances", d.Name, n, len(b.Rows))
				}
			}
		}
		for _, d := range descs {
			_, missing := v.Missing[d]
			if n := seen[d]; n > 1 || n == 0 && !missing || n > 0 && missing {
				t.Errorf("%s is in %d blocks, missing: %v", d.Name, n, missing)
			}
		}
		if may := 3*time.Second + time.Duration(processes)*5*time.Millisecond; took > may {
			t.Errorf("a fetch took %s of a processor, with %d processes", took, processes)
		}
	}
}

// still are metrics that only somebody's doing changes, or that never do.
func still(d *metric.Desc) bool {
	return d.Unsupported == "" && d.Formula == "" && (d.Class == metric.Static || d.Class == metric.Constrained || d.Sem == metric.Counter)
}

// A fetch says what probe says: a counter that is read between two readings of probe
// lies between them, a setting is the same.
func TestValuesAreThoseOfProbe(t *testing.T) {
	m := thisMachine(t)
	type id struct{ metric, key string }
	// As probe does: with sources of its own, some of which share what they have read
	// for a while.
	values := func() map[id]metric.Value {
		sources, err := platform.Sources(platform.Options{Args: "full"})
		if err != nil {
			t.Fatal(err)
		}
		all := make(map[id]metric.Value)
		for _, r := range probe.New(sources, platform.Now, still).Take().Readings {
			all[id{r.Desc.Name, r.Key()}] = r.Value
		}
		for _, s := range sources {
			s.Close()
		}
		return all
	}
	first := values()
	var want []*metric.Desc
	for _, d := range m.Catalog().Descs {
		if still(d) {
			want = append(want, d)
		}
	}
	v, err := m.Fetch(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	second := values()
	compared := 0
	for _, b := range v.Blocks {
		for col, d := range b.Group.Metrics {
			// What a program says of itself, and of what it has seen itself, is its own.
			if strings.HasPrefix(d.Name, "process.") || strings.HasPrefix(d.Name, "network.traffic.") || d.Indom == "process" && d.Sem == metric.Counter || strings.HasPrefix(d.Name, "proc.") && d.Indom == metric.NoIndom {
				continue
			}
			for row, in := range b.Rows {
				key := ""
				if in != nil {
					key = in.Key
				}
				got := b.Cols[col].At(d.Type, row)
				low, ok := first[id{d.Name, key}]
				high, too := second[id{d.Name, key}]
				// A kernel that is asked often gives old values, which is said.
				if !ok || !too || got.Miss == metric.Stale || low.Miss != metric.Present && got.Miss == low.Miss {
					continue
				}
				compared++
				switch {
				case got.Miss != metric.Present:
					t.Errorf("%s %q is %s, for probe it is %s", d.Name, key, got.Miss, low)
				case d.Sem != metric.Counter || d.Type == metric.String:
					if got.String() != low.String() && got.String() != high.String() {
						t.Errorf("%s %q is %s, for probe %s and then %s", d.Name, key, got, low, high)
					}
				case (got.Number() < low.Number() || got.Number() > high.Number()) && d.Falls == metric.MayRestart && high.Number() >= low.Number():
					t.Errorf("%s %q is %s, for probe %s and then %s", d.Name, key, got, low, high)
				}
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d values were compared", compared)
	}
	t.Logf("%d values compared", compared)
}

// What is computed needs two readings of its own, and is made of those.
func TestComputed(t *testing.T) {
	m := thisMachine(t)
	var want []*metric.Desc
	for _, d := range m.Catalog().Descs {
		if d.Formula != "" {
			want = append(want, d)
		}
	}
	ctx := context.Background()
	has := func() (map[string]metric.Value, map[*metric.Desc]metric.Reason) {
		v, err := m.Fetch(ctx, want)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]metric.Value)
		for _, b := range v.Blocks {
			for col, d := range b.Group.Metrics {
				if d.Formula != "" && len(b.Rows) > 0 {
					got[d.Name] = b.Cols[col].At(d.Type, 0)
				}
			}
		}
		return got, v.Missing
	}
	since := platform.Now().Awake
	got, missing := has()
	for name, level := range map[string]bool{"computed.memory_utilization_pct": true, "process.cpu_percent": false} {
		v, ok := got[name]
		if ok != level || ok && (v.Number() <= 0 || v.Number() > 100) {
			t.Errorf("at first: %s = %v, %v", name, v, ok)
		}
	}
	for d, why := range missing {
		if d.Name == "process.cpu_percent" && why != onlyOne {
			t.Errorf("%s is absent: %s", d.Name, why)
		}
	}
	began := platform.Worked()
	for platform.Worked()-began < 200*time.Millisecond {
		runtime.Gosched()
	}
	for d, f := range m.catalog.Load().formulas {
		if d.Name == "process.cpu_percent" {
			for _, in := range f.Inputs {
				m.reader.Forget(in) // as if it were no longer young
			}
		}
	}
	got, _ = has()
	// A busy machine may have taken long over it; the kernel counts in hundredths of a second.
	least := 100 * float64(200*time.Millisecond) / float64(platform.Now().Awake-since) / 2
	if v, ok := got["process.cpu_percent"]; !ok || v.Miss != metric.Present || v.Number() < least || v.Number() > 400 {
		t.Errorf("the second time, after 200 ms of work: process.cpu_percent = %v, %v (%s), want at least %v", v, ok, v.Miss, least)
	}
}

// Whose threads are read can be set, and what was set is read back.
func TestStore(t *testing.T) {
	m := thisMachine(t)
	ctx := context.Background()
	find := func(name string) *metric.Desc {
		for _, d := range m.Catalog().Descs {
			if d.Name == name {
				return d
			}
		}
		t.Fatalf("there is no %s", name)
		return nil
	}
	control, threads := find(allThreads), chosen(m, 1, func(d *metric.Desc) bool { return d.Indom == "thread" })
	if err := m.Store(ctx, find("kernel.all.load"), nil, metric.Value{}); !errors.Is(err, pcpserve.ErrReadOnly) {
		t.Errorf("a load was set: %v", err)
	}
	if _, err := m.Fetch(ctx, threads); err != nil {
		t.Fatal(err)
	}
	for _, to := range []uint64{1, 0} {
		if err := m.Store(ctx, control, nil, metric.Value{Type: control.Type, Bits: to}); err != nil {
			t.Fatal(err)
		}
		v, err := m.Fetch(ctx, append([]*metric.Desc{control}, threads...))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range v.Blocks {
			if b.Group.Indom == "thread" && (len(b.Rows) > 0) != (to == 1) {
				t.Errorf("%d threads with %s = %d", len(b.Rows), control.Name, to)
			}
			if b.Group.Indom == metric.NoIndom && b.Cols[0].Bits[0] != to {
				t.Errorf("%s is %d after it was set to %d", control.Name, b.Cols[0].Bits[0], to)
			}
		}
	}
}
