package computed

import (
	"math"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/probe"
)

func all(*metric.Desc) bool { return true }

// reading is a cell at a second of the continuous clock.
func reading(name, disk string, second int64, v uint64) probe.Value {
	r := probe.Value{Desc: catalog.Find(catalog.Linux, name), At: metric.Stamp{Cont: second * 1e9}}
	r.Value = metric.Value{Type: r.Desc.Type, Bits: v}
	if disk != "" {
		r.Instance = &metric.Instance{Key: disk, Name: disk}
	}
	return r
}

func TestLines(t *testing.T) {
	s, err := New(catalog.For(catalog.Linux), all)
	if err != nil {
		t.Fatal(err)
	}
	first := probe.Snapshot{Readings: []probe.Value{
		reading("disk.dev.total_read_time", "sda", 10, 100), reading("disk.dev.total_write_time", "sda", 10, 1000),
		reading("disk.dev.total", "sda", 10, 50),
		reading("process.user_time_us", "", 10, 1_000_000), reading("process.system_time_us", "", 10, 0),
	}}
	second := probe.Snapshot{Readings: []probe.Value{
		reading("disk.dev.total_read_time", "sda", 12, 130), reading("disk.dev.total_write_time", "sda", 12, 1010),
		reading("disk.dev.total", "sda", 12, 60), reading("disk.dev.total", "sdb", 12, 7),
		reading("process.user_time_us", "", 12, 1_500_000), reading("process.system_time_us", "", 12, 500_000),
		reading("mem.util.used", "", 12, 30), reading("mem.physmem", "", 12, 120),
		reading("process.resident_size", "", 12, 5000), reading("swap.used", "", 12, 0), reading("swap.length", "", 12, 0),
	}}
	lines, err := s.Lines(first, second)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"disk.dev.await sda": 4, "process.cpu_percent ": 50, "computed.memory_utilization_pct ": 25, "process.rss_kb ": 4,
		"computed.swap_utilization_pct ": 0,
	}
	for _, l := range lines {
		id := l.Metric + " " + l.Instance
		if w, ok := want[id]; ok {
			if v := l.Value.Number(); math.Abs(v-w) > 1e-9 {
				t.Errorf("%s = %v, want %v", id, v, w)
			}
			delete(want, id)
		} else if strings.HasPrefix(id, "disk.dev.await") && l.Value.Miss == metric.Present {
			t.Errorf("%s = %v from one reading", id, l.Value)
		}
	}
	for id := range want {
		t.Errorf("%s is not computed", id)
	}
}

func TestNeeds(t *testing.T) {
	s, err := New(catalog.For(catalog.Linux), func(d *metric.Desc) bool { return d.Name == "computed.swap_utilization_pct" })
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"swap.used": true, "swap.length": true, "mem.physmem": false} {
		if got := s.Needs(catalog.Find(catalog.Linux, name)); got != want {
			t.Errorf("Needs(%s) = %v", name, got)
		}
	}
}

// Every formula of both catalogues is one that replay understands, and gives
// the units that the catalogue promises.
func TestFormulasCompile(t *testing.T) {
	for _, p := range []catalog.Platform{catalog.Darwin, catalog.Linux} {
		s, err := New(catalog.For(p), all)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if len(s.formulas) < 9 {
			t.Errorf("%s: only %d computed metrics", p, len(s.formulas))
		}
	}
}

// However long the readings lie apart, what is computed of both is there.
func TestReadingsFarApart(t *testing.T) {
	s, err := New(catalog.For(catalog.Linux), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, apart := range []int64{1, 2, 4, 10, 3600, 40000} {
		look := func(second int64, ms, n, us uint64) probe.Snapshot {
			return probe.Snapshot{Readings: []probe.Value{
				reading("disk.dev.total_read_time", "sda", second, ms), reading("disk.dev.total_write_time", "sda", second, 0),
				reading("disk.dev.total", "sda", second, n),
				reading("process.user_time_us", "", second, us), reading("process.system_time_us", "", second, 0),
			}}
		}
		lines, err := s.Lines(look(10, 0, 0, 0), look(10+apart, 40, 10, uint64(apart)*500_000))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"disk.dev.await": 4, "process.cpu_percent": 50}
		for _, l := range lines {
			if w, ok := want[l.Metric]; ok && l.Value.Miss == metric.Present && math.Abs(l.Value.Number()-w) < 1e-9 {
				delete(want, l.Metric)
			}
		}
		if len(want) > 0 {
			t.Errorf("of readings %d s apart there is no %v: %v", apart, want, lines)
		}
	}
}
