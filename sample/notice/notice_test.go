package notice

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// desk gives a watcher single values, ten seconds apart.
type desk struct {
	w   *Watcher
	now int64
}

func (d *desk) see(m *metric.Desc, in *metric.Instance, cell any) []string {
	d.now += int64(10 * time.Second)
	at := metric.Stamp{Wall: d.now, Awake: d.now, Cont: d.now}
	col := metric.Column{}
	switch x := cell.(type) {
	case string:
		col.Push(metric.Value{Type: metric.String, Str: x})
	case int:
		col.Bits = []uint64{uint64(x)}
	case float32:
		col.Bits = []uint64{uint64(math.Float32bits(x))}
	case metric.Reason:
		col.Bits, col.Miss = []uint64{0}, []metric.Reason{x}
	}
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{m}}
	var out []string
	for _, e := range d.w.Look(&metric.Tick{At: at, Blocks: []*metric.Block{{Group: g, At: at, Rows: []*metric.Instance{in}, Cols: []metric.Column{col}}}}) {
		if e.At != at {
			panic("an event without the stamp of its block")
		}
		out = append(out, string(e.Kind)+": "+e.Text)
	}
	return out
}

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name     string
		desc     metric.Desc
		instance string
		cells    []any
		want     []string
	}{
		{"power source", metric.Desc{Name: "power.source", Type: metric.String, Class: metric.Polled}, "",
			[]any{"AC Power", "AC Power", "Battery Power", metric.NotRead, "Battery Power", "AC Power"},
			[]string{"power source: the machine runs on Battery Power now, before that on AC Power", "power source: the machine runs on AC Power now, before that on Battery Power"}},
		{"throttling and its end", metric.Desc{Name: "thermal.pressure.state", Type: metric.String, Class: metric.Polled}, "",
			[]any{"Nominal", "Moderate", "Heavy", "Heavy", "Nominal", "Nominal"},
			[]string{"throttling: the system throttles itself against heat: Moderate", "throttling: the system throttles itself against heat: Heavy",
				"throttling: the system no longer throttles itself against heat, after 30s"}},
		{"hot from the start", metric.Desc{Name: "thermal.pressure.state", Type: metric.String}, "",
			[]any{"Heavy", "Nominal"},
			[]string{"throttling: the system throttles itself against heat: Heavy", "throttling: the system no longer throttles itself against heat, after 10s"}},
		{"memory on a Mac", metric.Desc{Name: "kern.memorystatus_vm_pressure_level", Type: metric.I32}, "",
			[]any{1, 2, 4, 2, 1},
			[]string{"memory pressure: memory is short: the kernel says warning", "memory pressure: memory is short: the kernel says critical",
				"memory pressure: memory is short: the kernel says warning", "memory pressure: memory is no longer short, after 30s"}},
		{"memory on Linux wavers", metric.Desc{Name: "kernel.all.pressure.memory.full.avg", Type: metric.F32, Indom: "pressure"}, "10 second",
			[]any{float32(0), float32(9.9), float32(12.2), float32(5), float32(11), float32(0.5)},
			[]string{"memory pressure: memory is short: all processes waited for it 12 % of ten seconds", "memory pressure: memory is no longer short, after 30s"}},
		{"another instance", metric.Desc{Name: "kernel.all.pressure.memory.full.avg", Type: metric.F32, Indom: "pressure"}, "5 minute",
			[]any{float32(0), float32(90)}, nil},
		{"kills", metric.Desc{Name: "mem.vmstat.oom_kill", Type: metric.U64, Sem: metric.Counter}, "",
			[]any{7, 7, 8, 10, 3, 3},
			[]string{"memory pressure: the kernel killed a process for lack of memory", "memory pressure: the kernel killed 2 processes for lack of memory"}},
		{"a tunable", metric.Desc{Name: "kern.maxproc", Type: metric.I32, Sem: metric.Discrete, Class: metric.Constrained}, "",
			[]any{4000, 4000, metric.NotRead, 6000},
			[]string{"tunable change: kern.maxproc was changed from 4000 to 6000"}},
		{"a text", metric.Desc{Name: "kern.corefile", Type: metric.String, Sem: metric.Discrete, Class: metric.Constrained}, "",
			[]any{"", "/cores/%P 1"},
			[]string{`tunable change: kern.corefile was changed from "" to "/cores/%P 1"`}},
		{"of an instance", metric.Desc{Name: "disk.dev.scheduler", Type: metric.String, Sem: metric.Discrete, Class: metric.Constrained, Indom: "disk"}, "sda",
			[]any{"none", "bfq"},
			[]string{"tunable change: disk.dev.scheduler[sda] was changed from none to bfq"}},
		{"an update of the system while it runs", metric.Desc{Name: "kernel.uname.distro", Type: metric.String, Sem: metric.Discrete, Class: metric.Constrained}, "",
			[]any{"Debian GNU/Linux 12 (bookworm)", "Debian GNU/Linux 13 (trixie)"},
			[]string{"system update: Debian GNU/Linux 12 (bookworm) became Debian GNU/Linux 13 (trixie)"}},
		{"what moves by itself is no setting", metric.Desc{Name: "kern.num_files", Type: metric.I32, Sem: metric.Instant, Class: metric.Constrained}, "",
			[]any{1, 2, 3}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &desk{w: New()}
			var in *metric.Instance
			if tc.instance != "" {
				in = &metric.Instance{Key: tc.instance, Name: tc.instance}
			}
			var got []string
			for _, cell := range tc.cells {
				got = append(got, d.see(&tc.desc, in, cell)...)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%q\nwant\n%q", got, tc.want)
			}
		})
	}
}

// What was changed between two recordings has an event, unless the kernel worked it out anew.
func TestSettingsOfTheRecordingBefore(t *testing.T) {
	d := &desk{w: New()}
	value := func(n uint64) metric.Value { return metric.Value{Type: metric.U64, Bits: n} }
	d.w.Recall(map[string]metric.Value{"vm.swappiness": value(60), "kernel.threads_max": value(100_000), "vm.page_cluster": value(0), "vm.panic_on_oom": {Type: metric.String, Str: "x"}})
	for _, tc := range []struct {
		name  string
		cells []int
		want  []string
	}{
		{"vm.swappiness", []int{10, 10, 20}, []string{"tunable change: vm.swappiness was changed from 60 to 10 while nothing was recorded", "tunable change: vm.swappiness was changed from 10 to 20"}},
		{"kernel.threads_max", []int{100_123, 100_124}, []string{"tunable change: kernel.threads_max was changed from 100123 to 100124"}},
		{"vm.page_cluster", []int{3}, []string{"tunable change: vm.page_cluster was changed from 0 to 3 while nothing was recorded"}},
		{"vm.panic_on_oom", []int{1}, nil},
		{"kernel.sysrq", []int{1}, nil},
	} {
		m := &metric.Desc{Name: tc.name, Type: metric.U64, Sem: metric.Discrete, Class: metric.Constrained}
		var got []string
		for _, cell := range tc.cells {
			got = append(got, d.see(m, nil, cell)...)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestASettingThatIsTurnedToAndFroIsNoFlood(t *testing.T) {
	d := &desk{w: New()}
	m := &metric.Desc{Name: "kern.x", Type: metric.U64, Sem: metric.Discrete, Class: metric.Constrained}
	var got []string
	for i := range 720 { // two hours
		got = append(got, d.see(m, nil, i)...)
	}
	if len(got) < 2*mostTold || len(got) > 3*mostTold {
		t.Errorf("%d events of 719 changes", len(got))
	}
	if want := "; it changes again and again, and further changes are not told for an hour"; got[3] != fmt.Sprintf("tunable change: kern.x was changed from 3 to 4%s", want) {
		t.Errorf("the last one before the silence: %s", got[3])
	}
}

func TestEveryRuleIsOfTheCatalogue(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.metric, func(t *testing.T) {
			if catalog.Find(catalog.Darwin, r.metric) == nil && catalog.Find(catalog.Linux, r.metric) == nil {
				t.Error("no platform has this metric")
			}
		})
	}
}

func BenchmarkLook(b *testing.B) {
	w := New()
	g := &metric.Group{Name: "tree"}
	block := &metric.Block{Group: g, Rows: []*metric.Instance{nil}}
	for i := range 1000 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprint("kern.", i), Type: metric.U64, Sem: metric.Discrete, Class: metric.Constrained})
		block.Cols = append(block.Cols, metric.Column{Bits: []uint64{uint64(i)}})
	}
	tick := &metric.Tick{Blocks: []*metric.Block{block}}
	w.Look(tick)
	b.ReportAllocs()
	for b.Loop() {
		w.Look(tick)
	}
}
