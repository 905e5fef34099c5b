package samples

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/testdata/seed"
)

// told are the samples that a Maker made, by series.
type told struct {
	t    *testing.T
	list []string
	last map[string]int64
}

func nameOf(s *Series) string { return fmt.Sprint(s.Family.Name, s.Labels) }

func (o *told) Sample(s *Series, at int64, value Value) {
	name := nameOf(s)
	if o.last == nil {
		o.last = make(map[string]int64)
	}
	if before, ok := o.last[name]; ok && at <= before {
		o.t.Errorf("%s: a sample at %d comes after one at %d", name, at, before)
	}
	o.last[name] = at
	text := fmt.Sprint(value.Float)
	if math.Float64bits(value.Float) == math.Float64bits(Stale) {
		text = "ends"
	} else if value.Whole && float64(value.Int) != value.Float {
		o.t.Errorf("%s: %d is not %v", name, value.Int, value.Float)
	}
	o.list = append(o.list, fmt.Sprintf("%s %d %s", name, at/1e9, text))
}

func (o *told) has(t *testing.T, want ...string) {
	t.Helper()
	all := strings.Join(o.list, "\n") + "\n"
	for _, w := range want {
		if !strings.Contains(all, w+"\n") {
			t.Errorf("lacks %q:\n%s", w, all)
		}
	}
}

var info = &archive.Info{ID: "a", BootID: "b", Host: metric.Host{ID: "h", Name: "host", Platform: "linux"},
	Intervals: metric.Intervals{metric.Fast: 1e9, metric.Process: 5e9, metric.Static: metric.Once}}

func stamp(second int64) metric.Stamp {
	return metric.Stamp{Wall: (6000 + second) * 1e9, Cont: (100 + second) * 1e9}
}

var (
	disks = []*metric.Instance{{Key: "a", Name: "sda"}, {Key: "b", Name: "sdb"}, {Key: "c", Name: "sda"}}
	group = &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "test.reads", Type: metric.U64, Sem: metric.Counter, Indom: "disk"}, {Name: "test.state", Type: metric.String, Indom: "disk"}}}
	limits = &metric.Group{Name: "limits", Metrics: []*metric.Desc{{Name: "test.limit", Type: metric.U64, Sem: metric.Instant, Units: metric.Units{Space: 1, SpaceScale: 1}}}}
)

func disk(second int64, rows []*metric.Instance, words ...string) *metric.Tick {
	b := &metric.Block{Group: group, At: stamp(second), Rows: rows, Cols: make([]metric.Column, 2)}
	for i := range rows {
		b.Cols[0].Push(metric.Value{Type: metric.U64, Bits: uint64(10*second) + uint64(i)})
		v := metric.Value{Type: metric.String, Str: words[i]}
		if words[i] == "?" {
			v = metric.Value{Type: metric.String, Miss: metric.Permission}
		}
		b.Cols[1].Push(v)
	}
	return &metric.Tick{Class: metric.Fast, At: stamp(second), Blocks: []*metric.Block{b}}
}

// Series end where their instance, their text or their value does, and what stands on
// stands on when others come and go.
func TestSeriesEnd(t *testing.T) {
	o := &told{t: t}
	m := New(Scheme{Own: OwnNames})
	for _, tick := range []*metric.Tick{
		disk(0, disks[:1], "up"), disk(1, disks[:2], "up", "up"), disk(2, disks[:2], "up", "down"), disk(3, disks[:1], "?"), disk(4, disks[:1], "up"),
	} {
		m.Tick(info, tick, o)
	}
	o.has(t, "tachograph_test_reads_total[{device sda}] 6000 0", "tachograph_test_reads_total[{device sdb}] 6003 ends",
		"tachograph_test_state_info[{device sdb} {value up}] 6002 ends", "tachograph_test_state_info[{device sdb} {value down}] 6002 1",
		"tachograph_test_state_info[{device sdb} {value down}] 6003 ends", "tachograph_test_state_info[{device sda} {value up}] 6002 1",
		"tachograph_test_state_info[{device sda} {value up}] 6003 ends", "tachograph_test_state_info[{device sda} {value up}] 6004 1")
	if n := strings.Count(strings.Join(o.list, "\n"), "ends"); n != 4 {
		t.Errorf("%d series have ended:\n%s", n, strings.Join(o.list, "\n"))
	}
}

// Instances that are called alike are told apart.
func TestCalledAlike(t *testing.T) {
	o := &told{t: t}
	New(Scheme{Own: OwnNames}).Tick(info, disk(0, disks, "x", "x", "x"), o)
	o.has(t, "tachograph_test_reads_total[{device sda}] 6000 0", "tachograph_test_reads_total[{device sda} {key c}] 6000 2")
}

// What is read once is told again each minute while others are read.
func TestHeld(t *testing.T) {
	o := &told{t: t}
	m := New(Scheme{Own: OwnNames, About: true})
	limit := &metric.Block{Group: limits, At: stamp(5), Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{2}}}}
	m.Tick(info, &metric.Tick{Class: metric.Static, At: stamp(5), Blocks: []*metric.Block{limit}}, o)
	for s := int64(6); s < 130; s++ {
		m.Tick(info, disk(s, disks[:1], "up"), o)
	}
	o.has(t, "tachograph_test_limit_bytes[] 6005 2048", "tachograph_test_limit_bytes[] 6060 2048", "tachograph_test_limit_bytes[] 6120 2048",
		"tachograph_host_info[{boot b}] 6005 1", "tachograph_host_info[{boot b}] 6120 1")
	if n := strings.Count(strings.Join(o.list, "\n"), "limit_bytes"); n != 3 {
		t.Errorf("it was told %d times", n)
	}
}

// Whoever begins amid a recording, and is told how things stood, makes the same samples
// as who was there from the beginning.
func TestBaseIsEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t, 1), 1))
	for range 20 {
		var ticks []*metric.Tick
		for s := range int64(300) {
			words := make([]string, 3)
			for i := range words {
				words[i] = []string{"up", "down", "?"}[rng.IntN(3)]
			}
			ticks = append(ticks, disk(s, disks[:1+rng.IntN(3)], words...))
		}
		whole := &told{t: t}
		m := New(Scheme{Own: OwnNames, About: true})
		from := 1 + rng.IntN(200)
		for i, tick := range ticks {
			if i == from {
				whole.list = nil
			}
			m.Tick(info, tick, whole)
		}
		part := &told{t: t}
		m = New(Scheme{Own: OwnNames, About: true})
		m.Standing(info, ticks[from-1])
		for _, tick := range ticks[from:] {
			m.Tick(info, tick, part)
		}
		if got, want := strings.Join(part.list, "\n"), strings.Join(whole.list, "\n"); got != want {
			t.Fatalf("from tick %d on:\n%.3000s\nwant\n%.3000s", from, got, want)
		}
	}
}

// Totals are of the names that take most, and of all others together, so that their sum
// is that of all.
func TestProcesses(t *testing.T) {
	var descs []*metric.Desc
	for _, name := range []string{"proc.psinfo.utime", "proc.psinfo.stime", "proc.memory.rss"} {
		descs = append(descs, catalog.Find(catalog.Linux, name))
	}
	g := &metric.Group{Name: "proc", Indom: "process", Metrics: descs}
	var rows []*metric.Instance
	for i := range 40 {
		rows = append(rows, &metric.Instance{Key: fmt.Sprint(i), Name: fmt.Sprintf("%06d name%d", i, i/2)})
	}
	tick := func(s int64, n int) *metric.Tick {
		b := &metric.Block{Group: g, At: stamp(s), Rows: rows[:n], Cols: make([]metric.Column, 3)}
		for i := range n {
			b.Cols[0].Bits = append(b.Cols[0].Bits, uint64(s)*uint64(i)) // milliseconds
			b.Cols[1].Bits = append(b.Cols[1].Bits, 0)
			b.Cols[2].Bits = append(b.Cols[2].Bits, 1)
		}
		return &metric.Tick{Class: metric.Process, At: stamp(s), Blocks: []*metric.Block{b}}
	}
	o := &told{t: t}
	m := New(Scheme{Own: OwnNames, Processes: 3})
	m.Tick(info, tick(5, 40), o)
	m.Tick(info, tick(10, 40), o)
	m.Tick(info, tick(15, 2), o)
	o.has(t, "tachograph_processes_cpu_ratio[{name name19}] 6010 0.077", "tachograph_processes[{name name19}] 6010 2", "tachograph_processes_resident_bytes[{name name19}] 6010 2048",
		"tachograph_processes_cpu_ratio[{name name19}] 6015 ends", "tachograph_processes_cpu_ratio[{name name0}] 6015 0.001")
	names, sum := make(map[string]bool), 0.0
	for _, l := range o.list {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(l, "tachograph_processes_cpu_ratio[{name "), "}] 6010 "); ok {
			var x float64
			if _, err := fmt.Sscan(rest, &x); err == nil && !strings.HasPrefix(name, "tachograph") {
				names[name], sum = true, sum+x
			}
		}
	}
	if len(names) > 7 || !names[Others] || math.Abs(sum-0.78) > 1e-9 {
		t.Errorf("%v, together %v", names, sum)
	}
}

// What is computed is what replay computes of two readings.
func TestComputed(t *testing.T) {
	var descs []*metric.Desc
	for _, name := range []string{"mem.util.used", "mem.physmem", "disk.all.total", "disk.all.total_bytes"} {
		d := *catalog.Find(catalog.Linux, name)
		descs = append(descs, &d)
	}
	g := &metric.Group{Name: "all", Metrics: descs}
	o := &told{t: t}
	m := New(Scheme{Own: OwnNames, Computed: true, Named: naming.Node})
	for s := range int64(3) {
		b := &metric.Block{Group: g, At: stamp(s), Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(descs))}
		for i := range b.Cols {
			b.Cols[i].Bits = []uint64{uint64(100 * (s + 1) * int64(i+1))}
		}
		m.Tick(info, &metric.Tick{Class: metric.Fast, At: stamp(s), Blocks: []*metric.Block{b}}, o)
	}
	all := strings.Join(o.list, "\n")
	// 400 Kbyte in 300 requests, at the second reading and the third.
	if strings.Count(all, "tachograph_disk_all_avgrq_sz_bytes[] ") != 2 || !strings.Contains(all, "tachograph_disk_all_avgrq_sz_bytes[] 6001 1365.333") {
		t.Errorf("lacks tachograph_disk_all_avgrq_sz_bytes:\n%s", all)
	}
	if !strings.Contains(all, "node_memory_MemTotal_bytes[] 6000 204800") {
		t.Errorf("lacks node_memory_MemTotal_bytes:\n%s", all)
	}
}
