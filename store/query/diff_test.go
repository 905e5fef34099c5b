package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
	"tachograph/store/storetest/proof"
)

// busy is a made-up machine of two hours: levels that wander, counters that
// pulse, something every five minutes, processes that idle, work and come and
// go. Something may be injected at an instant.
type busy struct {
	rnd     *rand.Rand
	at      int64 // seconds since the start
	part    *querytest.Part
	one     *metric.Group
	vol     *metric.Group
	procs   *metric.Group
	consts  *metric.Group
	values  map[string]float64
	drift   map[string]float64
	workers []*worker
	next    int
	inject  func(b *busy)
	always  func(b *busy) // at each step
	faster  float64       // how many times as fast what comes and goes for minutes does
	tunable float64
}

type worker struct {
	in                      *metric.Instance
	cpu, mem, write         float64 // per second, bytes, per second
	pulse                   int     // seconds between bursts; 0 for steady
	utime, stime, read, wri float64
	until                   int64
}

const (
	busySeconds = 7200
	busyStep    = 10
	incident    = 5400 // when something is injected
)

func counterDesc(name string, u metric.Units, class metric.Class, indom string) *metric.Desc {
	return &metric.Desc{Name: name, Type: metric.U64, Sem: metric.Counter, Units: u, Class: class, Indom: indom, Help: "Counts of " + name}
}

func levelDesc(name string, u metric.Units, class metric.Class, indom string) *metric.Desc {
	return &metric.Desc{Name: name, Type: metric.F64, Sem: metric.Instant, Units: u, Class: class, Indom: indom, Help: "Level of " + name}
}

func newBusy(seed uint64, inject func(*busy)) *busy {
	b := &busy{rnd: rand.New(rand.NewPCG(seed, 3)), values: make(map[string]float64), drift: make(map[string]float64), inject: inject, tunable: 4096}
	b.one = &metric.Group{Name: "one"}
	for _, n := range []string{"kernel.all.cpu.user", "kernel.all.cpu.sys"} {
		b.one.Metrics = append(b.one.Metrics, counterDesc(n, metric.Milliseconds, metric.Fast, ""))
	}
	for i := range 25 {
		b.one.Metrics = append(b.one.Metrics, counterDesc(fmt.Sprintf("disk.all.c%d", i), metric.Counts, metric.Fast, ""),
			counterDesc(fmt.Sprintf("network.all.c%d", i), metric.Bytes, metric.Fast, ""),
			levelDesc(fmt.Sprintf("mem.util.l%d", i), metric.Kbytes, metric.Fast, ""))
	}
	b.one.Metrics = append(b.one.Metrics, counterDesc("disk.all.write_bytes", metric.Kbytes, metric.Fast, ""), levelDesc("mem.util.used", metric.Kbytes, metric.Fast, ""))
	full := levelDesc("filesys.full", metric.NoUnits, metric.Polled, "filesys")
	full.Sem = metric.Discrete
	b.vol = &metric.Group{Name: "filesys", Indom: "filesys", Metrics: []*metric.Desc{full}}
	tun := levelDesc("kern.tunable", metric.NoUnits, metric.Constrained, "")
	tun.Sem = metric.Discrete
	cpus := levelDesc("hinv.ncpu", metric.NoUnits, metric.Constrained, "")
	cpus.Sem = metric.Discrete
	mem := levelDesc("mem.physmem", metric.Kbytes, metric.Constrained, "")
	mem.Sem = metric.Discrete
	b.consts = &metric.Group{Name: "tunables", Metrics: []*metric.Desc{tun, cpus, mem}}
	b.procs = &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{
		counterDesc("proc.psinfo.utime", metric.Milliseconds, metric.Process, "process"), counterDesc("proc.psinfo.stime", metric.Milliseconds, metric.Process, "process"),
		levelDesc("proc.memory.rss", metric.Kbytes, metric.Process, "process"),
		counterDesc("proc.io.read_bytes", metric.Bytes, metric.Process, "process"), counterDesc("proc.io.write_bytes", metric.Bytes, metric.Process, "process")}}
	b.part = &querytest.Part{Info: store.ArchiveInfo{ID: "b", Host: metric.Host{ID: "h", Name: "busy"}, BootID: "b",
		Intervals: metric.Intervals{metric.Fast: busyStep * time.Second, metric.Polled: busyStep * time.Second, metric.Process: busyStep * time.Second, metric.Constrained: time.Minute}}}
	for _, g := range []*metric.Group{b.one, b.vol, b.procs, b.consts} {
		b.part.Catalog = append(b.part.Catalog, g.Metrics...)
	}
	for i := range 30 {
		w := b.start(fmt.Sprintf("daemon%d", i), 1<<62)
		w.cpu, w.mem = b.rnd.ExpFloat64()*0.02, 1e6+b.rnd.ExpFloat64()*5e7
		if i%5 == 0 {
			w.pulse, w.cpu = 60*(1+b.rnd.IntN(10)), 0.5
		}
		w.write = b.rnd.ExpFloat64() * 2e4
	}
	return b
}

func (b *busy) start(name string, until int64) *worker {
	b.next++
	w := &worker{in: &metric.Instance{ID: uint64(b.next), Key: fmt.Sprint(b.next), Name: fmt.Sprintf("%06d %s", 100+b.next, name)}, until: until}
	b.workers = append(b.workers, w)
	return w
}

func (b *busy) stamp() metric.Stamp {
	wall := (1_790_000_000 + b.at) * second
	return metric.Stamp{Wall: wall, Cont: (100_000 + b.at) * second}
}

// level is the value of a wandering series.
func (b *busy) level(name string, i int) float64 {
	mean := 1000 * math.Pow(1.6, float64(i%12))
	x := &b.values
	d := b.drift[name]*0.98 + b.rnd.NormFloat64()*0.01
	b.drift[name] = d
	(*x)[name] = mean * (1 + d + 0.03*b.rnd.NormFloat64())
	return (*x)[name]
}

func (b *busy) rate(i int) float64 {
	base := 2 * math.Pow(2, float64(i%14))
	x := base * (1 + 0.2*b.rnd.NormFloat64())
	switch i % 4 {
	case 1: // Bursts.
		if b.rnd.IntN(20) == 0 {
			x += base * 30 * b.rnd.Float64()
		}
	case 2: // Something every five minutes.
		if b.at%300 < 30 {
			x *= 8
		}
	case 3: // On for minutes, off for minutes.
		if math.Sin(float64(b.at)/(200+float64(i)*7)*max(b.faster, 1)) > 0.3 {
			x *= 4
		}
	}
	return max(x, 0)
}

func (b *busy) run() *querytest.Archive {
	for b.at = 0; b.at < busySeconds; b.at += busyStep {
		b.step()
	}
	return querytest.New(b.part)
}

func cellOf(d *metric.Desc, x float64) metric.Column {
	if d.Type == metric.F64 {
		return metric.Column{Bits: []uint64{math.Float64bits(x)}}
	}
	return metric.Column{Bits: []uint64{uint64(x)}}
}

func (b *busy) step() {
	if b.rnd.IntN(3) == 0 {
		w := b.start(fmt.Sprintf("job%d", b.rnd.IntN(40)), b.at+20+int64(b.rnd.IntN(200)))
		w.cpu, w.mem = 0.1*b.rnd.Float64(), 1e6+b.rnd.ExpFloat64()*2e7
	}
	if b.rnd.IntN(200) == 0 {
		b.start(fmt.Sprintf("shell%d", b.next), b.at+600+int64(b.rnd.IntN(2000))).mem = 4e6
	}
	if b.always != nil {
		b.always(b)
	}
	if b.inject != nil && b.at >= incident {
		b.inject(b)
	}
	at := b.stamp()
	block := &metric.Block{Group: b.procs, At: at, Cols: make([]metric.Column, 5)}
	total := 0.0
	var written float64
	alive := b.workers[:0]
	for _, w := range b.workers {
		if b.at > w.until {
			continue
		}
		alive = append(alive, w)
		cpu := w.cpu * (0.5 + b.rnd.Float64())
		if w.pulse > 0 && (b.at/int64(w.pulse))%4 != 0 {
			cpu = 0
		}
		total += cpu
		w.utime += cpu * 1000 * busyStep
		w.wri += w.write * busyStep * (0.5 + b.rnd.Float64())
		written += w.write * busyStep
		block.Rows = append(block.Rows, w.in)
		for c, x := range []float64{w.utime, w.stime, w.mem / 1024, w.read, w.wri} {
			block.Cols[c].Bits = append(block.Cols[c].Bits, cellOf(b.procs.Metrics[c], x).Bits[0])
		}
	}
	b.workers = alive
	b.part.Ticks = append(b.part.Ticks, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{block}})
	sys := &metric.Block{Group: b.one, At: at, Rows: []*metric.Instance{nil}}
	for i, d := range b.one.Metrics {
		switch {
		case d.Name == "kernel.all.cpu.user":
			b.values[d.Name] += total * 1000 * busyStep
		case d.Name == "disk.all.write_bytes":
			b.values[d.Name] += (written + 1e6*b.rnd.Float64()) / 1024
		case d.Name == "mem.util.used":
			mem := 3e6
			for _, w := range b.workers {
				mem += w.mem / 1024
			}
			b.values[d.Name] = mem * (1 + 0.01*b.rnd.NormFloat64())
		case d.Sem == metric.Counter:
			b.values[d.Name] += b.rate(i) * busyStep
		default:
			b.level(d.Name, i)
		}
		sys.Cols = append(sys.Cols, cellOf(d, b.values[d.Name]))
	}
	b.part.Ticks = append(b.part.Ticks, &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{sys}})
	full := &metric.Block{Group: b.vol, At: at, Rows: []*metric.Instance{{ID: 1, Key: "/", Name: "/"}},
		Cols: []metric.Column{cellOf(b.vol.Metrics[0], 55+b.values["full"]+0.001*float64(b.at)/100)}}
	b.part.Ticks = append(b.part.Ticks, &metric.Tick{Class: metric.Polled, At: at, Blocks: []*metric.Block{full}})
	if b.at%60 == 0 {
		c := &metric.Block{Group: b.consts, At: at, Rows: []*metric.Instance{nil}}
		for i, x := range []float64{b.tunable, 4, 16 << 20} {
			c.Cols = append(c.Cols, cellOf(b.consts.Metrics[i], x))
		}
		b.part.Ticks = append(b.part.Ticks, &metric.Tick{Class: metric.Constrained, At: at, Blocks: []*metric.Block{c}})
	}
}

// between compares ten minutes before an instant with the ten minutes after it.
func between(t *testing.T, a query.Archive, at int64) []*query.Change {
	t.Helper()
	wall := func(s int64) int64 { return (1_790_000_000 + s) * second }
	list, err := query.Diff(a, query.DiffRequest{Host: "h", A: query.Window{From: wall(at - 600), To: wall(at)}, B: query.Window{From: wall(at), To: wall(at + 600)}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func told(list []*query.Change) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "\n  %s %s %s %s: %v → %v (effect %.1f, impact %.3f, score %.3f)",
			c.Kind, c.Subject, c.Instance, c.Aspect, c.Before, c.After, c.Effect, c.Impact, c.Score)
	}
	return b.String()
}

// TestDiffIsQuiet compares windows in which nothing was injected: there is next
// to nothing to say.
func TestDiffIsQuiet(t *testing.T) {
	proof.Unraced(t)
	lines, windows, worst := 0, 0, 0
	for seed := range uint64(3) {
		a := newBusy(seed, nil).run()
		for at := int64(1200); at <= 6600; at += 600 {
			list := between(t, a, at)
			if len(list) > 3 {
				t.Logf("seed %d at %d:%s", seed, at, told(list))
			}
			lines += len(list)
			worst = max(worst, len(list))
			windows++
		}
	}
	t.Logf("%d lines for %d pairs of windows, at most %d", lines, windows, worst)
	if float64(lines) > 1.5*float64(windows) || worst > 8 {
		t.Errorf("%d lines for %d pairs of windows without a change, at most %d for one", lines, windows, worst)
	}
}

// TestDiffFindsWhatWasInjected looks for injected changes in the first three
// lines.
func TestDiffFindsWhatWasInjected(t *testing.T) {
	proof.Unraced(t)
	once := func(do func(b *busy)) func(*busy) {
		return func(b *busy) {
			if b.at == incident {
				do(b)
			}
		}
	}
	for _, c := range []struct {
		name   string
		inject func(b *busy)
		wants  []string // one of these subjects
	}{
		{"a CPU burner", once(func(b *busy) { b.start("burner", 1<<62).cpu = 0.9 }), []string{"burner", "kernel.all.cpu.user"}},
		{"a small CPU burner", once(func(b *busy) { b.start("spinner", 1<<62).cpu = 0.25 }), []string{"spinner"}},
		{"a daemon that spins", once(func(b *busy) { b.workers[1].cpu = 0.8 }), []string{"daemon1", "kernel.all.cpu.user"}},
		{"a leak", func(b *busy) { b.workers[2].mem += 3e7 }, []string{"daemon2", "mem.util.used"}},
		{"a slow leak", func(b *busy) { b.workers[2].mem += 1e7 }, []string{"daemon2", "mem.util.used"}},
		{"a full disk", func(b *busy) { b.values["full"] = min(b.values["full"]+1, 44.9) }, []string{"filesys.full"}},
		{"a disk that goes from 90 to 100 percent", func(b *busy) { b.values["full"] = min(max(b.values["full"], 35)+0.2, 44.9) }, []string{"filesys.full"}},
		{"a changed tunable", once(func(b *busy) { b.tunable = 8192 }), []string{"kern.tunable"}},
		{"a writer", once(func(b *busy) { b.workers[4].write = 5e7 }), []string{"daemon4", "disk.all.write_bytes"}},
		{"a daemon that dies", once(func(b *busy) { b.workers[3].until = b.at }), []string{"daemon3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(2) {
				list := between(t, newBusy(100+seed, c.inject).run(), incident)
				place := -1
				for i, ch := range list {
					for _, want := range c.wants {
						if place < 0 && ch.Subject == want {
							place = i
						}
					}
				}
				if place < 0 || place > 2 {
					t.Errorf("%s, seed %d: not in the first three lines:%s", c.name, seed, told(list))
				}
			}
		})
	}
}
