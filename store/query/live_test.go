package query_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/rewrite"
)

// TestLiveSaysWhatTheArchiveSays shows the ticks of recorded incidents to live
// conditions, one after the other, and asks the archive the same.
func TestLiveSaysWhatTheArchiveSays(t *testing.T) {
	for _, c := range []struct{ incident, condition string }{
		{"runaway-loop", "rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 50%"},
		{"runaway-loop", "proc.memory.rss > 2 MB && rate(proc.psinfo.utime[/pricecalc/]) > 10%"},
		{"runaway-loop", "proc.psinfo.utime > 50%"},
		{"runaway-loop", "kernel.all.load[1 minute] > 0.4"},
		{"runaway-loop", "max(rate(proc.psinfo.utime)) > 30%"},
		{"runaway-loop", "count(proc.memory.rss) > 5"},
		{"runaway-loop", "sum(rate(proc.psinfo.utime)) by name > 30%"},
		{"fork-storm", "count(proc.memory.rss) by name >= 2"},
		{"memory-hog", "max(sum(proc.memory.rss) by name) > 20 MB"},
		{"runaway-loop", "1 - rate(kernel.all.cpu.idle) / hinv.ncpu > 80%"},
		{"fork-storm", "rate(kernel.all.sysfork) > 5"},
		{"fork-storm", "delta(proc.psinfo.utime) >= 0"},
		{"swap-storm", "kernel.all.pressure.memory.full.avg[10 second] > 10%"},
		{"swap-storm", "mem.util.available / mem.physmem < 10% || swap.used / swap.length > 50%"},
		{"memory-hog", "kern.memorystatus_vm_pressure_level >= 2"},
		{"memory-hog", "-rate(mem.util.free) > 1 MB/s"},
		{"sleep", "rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 0.1%"},
	} {
		t.Run(c.incident+" "+c.condition, func(t *testing.T) { liveAgrees(t, c.incident, c.condition) })
	}
}

// instant is an instance at the time of a block.
type instant struct {
	key  string
	wall int64
}

func liveAgrees(t *testing.T, incident, condition string) {
	dir := filepath.Join("../../testdata/incidents", incident)
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e, err := query.CompileCondition(r, nil, condition)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[instant]float64)
	held := 0
	for s, err := range query.Evaluate(r, e.Expr, query.Request{Mode: query.Shown}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, wall := range s.Wall {
			if v := s.Value(i); v.Miss == metric.Present {
				want[instant{keyOf(s.Instance), wall}] = v.Number()
				held += int(v.Number())
			}
		}
	}
	if held == 0 {
		t.Fatalf("the condition never holds: it proves nothing (%d values)", len(want))
	}
	live := query.NewLive(e.Expr)
	agreed := 0
	for it, err := range rewrite.Read(rewrite.ReadOptions{NoEvents: true}, dir) {
		if err != nil {
			t.Fatal(err)
		}
		var at metric.Stamp
		for _, b := range it.Tick.Blocks {
			if live.See(b) {
				at = b.At
			}
		}
		if at == (metric.Stamp{}) {
			continue
		}
		live.Each(at, func(c query.Case) {
			where := instant{keyOf(c.Instance), at.Wall}
			switch v, ok := want[where]; {
			case !ok:
			case v != c.Holds:
				t.Errorf("%v: live says %v of %v, the archive %v", where, c.Holds, c.Value, v)
			default:
				agreed++
			}
		})
	}
	if agreed < len(want)*9/10 {
		t.Errorf("of %d values %d were seen live", len(want), agreed)
	}
}

func keyOf(in *metric.Instance) string {
	if in == nil {
		return ""
	}
	return in.Key
}

var liveVocabulary = described([]*metric.Desc{
	{Name: "level", Type: metric.F64, Sem: metric.Instant},
	{Name: "busy", Type: metric.U64, Sem: metric.Counter, Units: unit("millisec"), Indom: "process", Falls: metric.NeverRestarts},
	{Name: "size", Type: metric.U64, Sem: metric.Instant, Units: unit("Kbyte"), Indom: "process"},
})

func newLive(t *testing.T, condition string) *query.Live {
	t.Helper()
	c, err := query.CompileCondition(liveVocabulary, nil, condition)
	if err != nil {
		t.Fatal(err)
	}
	return query.NewLive(c.Expr)
}

// process is a row: a process and what it has used; below 0 that is not known.
type process struct {
	in   *metric.Instance
	busy int64
}

var busyGroup = &metric.Group{Name: "p", Indom: "process", Metrics: []*metric.Desc{liveVocabulary.Lookup("busy")}}

// sweep is a block of processes at a second.
func sweep(second int64, asleep int64, list ...process) *metric.Block {
	b := &metric.Block{Group: busyGroup, At: metric.Stamp{Wall: second * 1e9, Awake: (second - asleep) * 1e9, Cont: second * 1e9}, Cols: make([]metric.Column, 1)}
	for _, p := range list {
		b.Rows = append(b.Rows, p.in)
		v := metric.Value{Type: metric.U64, Bits: uint64(p.busy)}
		if p.busy < 0 {
			v = metric.Value{Type: metric.U64, Miss: metric.Permission}
		}
		b.Cols[0].Push(v)
	}
	return b
}

func TestLiveForgetsWhatIsGone(t *testing.T) {
	l := newLive(t, "rate(busy) > 50%")
	a, b := &metric.Instance{ID: 1, Key: "1/10", Name: "a"}, &metric.Instance{ID: 2, Key: "2/10", Name: "b"}
	again := &metric.Instance{ID: 1, Key: "1/99", Name: "a again"}
	born := make(map[string]uint64)
	for i, step := range []struct {
		block *metric.Block
		want  map[string]float64 // by key; NaN: known, and cannot be told
	}{
		{sweep(1, 0, process{a, 0}, process{b, 0}), map[string]float64{"1/10": math.NaN(), "2/10": math.NaN()}},
		{sweep(2, 0, process{a, 900}, process{b, 100}), map[string]float64{"1/10": 1, "2/10": 0}},
		// The rows change places.
		{sweep(3, 0, process{b, 200}, process{a, 1800}), map[string]float64{"1/10": 1, "2/10": 0}},
		// What cannot be read is neither; the rate after it is over both seconds.
		{sweep(4, 0, process{b, -1}, process{a, 2700}), map[string]float64{"1/10": 1, "2/10": math.NaN()}},
		{sweep(5, 0, process{b, 1600}, process{a, 2700}), map[string]float64{"1/10": 0, "2/10": 1}},
		// The pid comes back as another process, whose own time begins.
		{sweep(6, 0, process{again, 5000}, process{b, 1600}), map[string]float64{"1/99": math.NaN(), "2/10": 0}},
		// The machine sleeps: what a process used in that time is no rate.
		{sweep(106, 99, process{again, 5900}, process{b, 1600}), map[string]float64{"1/99": math.NaN(), "2/10": math.NaN()}},
		{sweep(107, 99, process{again, 6800}), map[string]float64{"1/99": 1}},
	} {
		l.See(step.block)
		got := make(map[string]float64)
		l.Each(step.block.At, func(c query.Case) {
			got[c.Instance.Key] = c.Holds
			if before, ok := born[c.Instance.Key]; ok && before != c.Born {
				t.Errorf("step %d: %s is taken for another one", i, c.Instance.Key)
			}
			born[c.Instance.Key] = c.Born
		})
		if len(got) != len(step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
		for key, want := range step.want {
			if v, ok := got[key]; !ok || v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
				t.Errorf("step %d: %s is %v, want %v", i, key, got[key], want)
			}
		}
	}
	if born["1/10"] == born["1/99"] {
		t.Error("two processes that followed each other under one pid are one to who counts them")
	}
}

func TestLiveDoesNotTrustWhatIsOld(t *testing.T) {
	l := newLive(t, "level > 5 && count(size) < 1")
	level := &metric.Group{Name: "l", Metrics: []*metric.Desc{liveVocabulary.Lookup("level")}}
	see := func(second int64) {
		l.See(&metric.Block{Group: level, At: metric.Stamp{Awake: second * 1e9}, Rows: []*metric.Instance{nil},
			Cols: []metric.Column{{Bits: []uint64{math.Float64bits(7)}}}})
	}
	holds := func(second int64) (v float64) {
		l.Each(metric.Stamp{Awake: second * 1e9}, func(c query.Case) { v = c.Holds })
		return v
	}
	see(100)
	see(110)
	if v := holds(110); !math.IsNaN(v) {
		t.Errorf("no sizes have been read, and they are counted: %v", v)
	}
	size := &metric.Group{Name: "s", Indom: "process", Metrics: []*metric.Desc{liveVocabulary.Lookup("size")}}
	none := func(second int64) {
		l.See(&metric.Block{Group: size, At: metric.Stamp{Awake: second * 1e9}, Cols: make([]metric.Column, 1)})
	}
	none(105)
	none(110)
	if v := holds(110); v != 1 {
		t.Errorf("level 7 and no process: %v", v)
	}
	if v := holds(1000); !math.IsNaN(v) {
		t.Errorf("what was read a quarter of an hour ago still counts: %v", v)
	}
}

func TestLiveAllocatesNothing(t *testing.T) {
	l := newLive(t, "rate(busy) > 50%")
	var list []process
	for i := range 400 {
		list = append(list, process{&metric.Instance{ID: uint64(i), Key: string(rune('a'+i%26)) + string(rune('a'+i/26)), Name: "p"}, 0})
	}
	b := sweep(1, 0, list...)
	n := 0
	count := func(c query.Case) { n += int(c.Slot) }
	turn := func() {
		b.At.Wall, b.At.Awake, b.At.Cont = b.At.Wall+5e9, b.At.Awake+5e9, b.At.Cont+5e9
		l.See(b)
		l.Each(b.At, count)
	}
	turn()
	if allocs := testing.AllocsPerRun(100, turn); allocs > 0 {
		t.Errorf("a look at 400 processes allocates %v times", allocs)
	}
}

func BenchmarkLive(b *testing.B) {
	c, err := query.CompileCondition(liveVocabulary, nil, "rate(busy) > 50%")
	if err != nil {
		b.Fatal(err)
	}
	l := query.NewLive(c.Expr)
	var list []process
	for i := range 400 {
		list = append(list, process{&metric.Instance{ID: uint64(i), Key: string(rune('a'+i%26)) + string(rune('a'+i/26)), Name: "p"}, 0})
	}
	block := sweep(1, 0, list...)
	count := func(query.Case) {}
	for b.Loop() {
		block.At.Awake, block.At.Cont = block.At.Awake+5e9, block.At.Cont+5e9
		l.See(block)
		l.Each(block.At, count)
	}
}

// The owners of a process can change: a unit's process is moved into its group just after the fork.
func TestLiveGroups(t *testing.T) {
	l := newLive(t, "sum(rate(busy)) by service > 50%")
	owned := func(id uint64, key, service string) *metric.Instance {
		in := &metric.Instance{ID: id, Key: key, Name: key}
		if service != "" {
			in.Labels = []metric.Label{{Name: "service", Value: service}}
		}
		return in
	}
	a, b, c := owned(1, "1/10", "web.service"), owned(2, "2/10", "web.service"), owned(3, "3/10", "")
	ask := func(block *metric.Block) string {
		l.See(block)
		got := ""
		l.Each(block.At, func(c query.Case) {
			kind, name := c.Instance.MainOwner()
			got += fmt.Sprintf("%s %s %.1f; ", kind, name, c.Value)
		})
		return got
	}
	for i, want := range []string{"service web.service NaN; ", "service web.service 0.7; ", "service web.service 0.3; service db.service 0.4; ", "service db.service 0.9; ", ""} {
		at := int64(i + 1)
		var got string
		switch i {
		case 0:
			got = ask(sweep(at, 0, process{a, 0}, process{b, 0}, process{c, 0}))
		case 1:
			got = ask(sweep(at, 0, process{a, 300}, process{b, 400}, process{c, 1000}))
		case 2:
			b.Labels = []metric.Label{{Name: "service", Value: "db.service"}}
			b.Rev++
			got = ask(sweep(at, 0, process{a, 600}, process{b, 800}, process{c, 2000}))
		case 3:
			got = ask(sweep(at, 0, process{b, 1700}, process{c, 3000}))
		case 4:
			got = ask(sweep(at, 0, process{c, 4000}))
		}
		if got != want {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}
