package reduce_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/layout"
	"tachograph/store/query"
	"tachograph/store/reduce"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
)

var (
	level    = &metric.Desc{Name: "t.level", Type: metric.I64, Sem: metric.Instant, Class: metric.Fast}
	float    = &metric.Desc{Name: "t.float", Type: metric.F64, Sem: metric.Instant, Class: metric.Fast}
	counter  = &metric.Desc{Name: "t.counter", Type: metric.U64, Sem: metric.Counter, Class: metric.Fast}
	narrow   = &metric.Desc{Name: "t.narrow", Type: metric.U32, Sem: metric.Counter, Class: metric.Fast, Units: metric.Bytes}
	dipping  = &metric.Desc{Name: "t.dipping", Type: metric.U64, Sem: metric.Counter, Class: metric.Fast, Falls: metric.NeverRestarts}
	setting  = &metric.Desc{Name: "t.setting", Type: metric.U64, Sem: metric.Discrete, Class: metric.Fast}
	text     = &metric.Desc{Name: "t.text", Type: metric.String, Sem: metric.Discrete, Class: metric.Fast}
	disk     = &metric.Desc{Name: "t.disk", Type: metric.U64, Sem: metric.Counter, Class: metric.Fast, Indom: "disk"}
	queue    = &metric.Desc{Name: "t.queue", Type: metric.U64, Sem: metric.Instant, Class: metric.Fast, Indom: "disk"}
	utime    = &metric.Desc{Name: "proc.psinfo.utime", Type: metric.U64, Sem: metric.Counter, Class: metric.Process, Indom: "process", Units: metric.Units{Time: 1, TimeScale: 2}, Falls: metric.NeverRestarts}
	rss      = &metric.Desc{Name: "proc.memory.rss", Type: metric.U64, Sem: metric.Instant, Class: metric.Process, Indom: "process", Units: metric.Units{Space: 1, SpaceScale: 1}}
	threads  = &metric.Desc{Name: "proc.psinfo.threads", Type: metric.U32, Sem: metric.Instant, Class: metric.Process, Indom: "process"}
	user     = &metric.Desc{Name: "proc.id.uid_nm", Type: metric.String, Sem: metric.Discrete, Class: metric.Process, Indom: "process"}
	began    = time.Date(2026, 11, 20, 9, 58, 17, 0, time.UTC).UnixNano()
	system   = &metric.Group{Name: "system", Metrics: []*metric.Desc{level, float, counter, narrow, dipping, setting, text}}
	disks    = &metric.Group{Name: "disks", Indom: "disk", Metrics: []*metric.Desc{disk, queue}}
	procs    = &metric.Group{Name: "proc", Indom: "process", Metrics: []*metric.Desc{utime, rss, threads, user}}
	whose    = metric.Host{ID: "machine", Name: "machine", OS: "Linux", Platform: "linux"}
	every, _ = time.ParseDuration("1s")
)

// record makes archives of a made-up machine, one for each part, all of one boot: counters
// are reset, wrap and dip, disks and processes come and go, values are absent, and there is
// a sleep and a gap.
func record(t *testing.T, seed uint64, seconds int, parts int) []string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(seed, 1))
	var paths []string
	var w *rewrite.Writer
	var lev, cnt, nar, dip, set uint64 = 500, 1000, math.MaxUint32 - 5000, 100, 1
	word := "a"
	counts := map[string]uint64{}
	type proc struct {
		in   *metric.Instance
		used uint64
		ends int
	}
	var running []*proc
	next := 1
	skew := int64(0)
	for i := range seconds {
		if i%((seconds+parts-1)/parts) == 0 {
			if w != nil {
				finish(t, w)
			}
			path := filepath.Join(dir, fmt.Sprintf("part%d.tacho", len(paths)))
			paths = append(paths, path)
			var err error
			iv := metric.Intervals{}
			iv[metric.Fast], iv[metric.Process] = every, 5*every
			if w, err = rewrite.Create(path, rewrite.About{Host: whose, Boot: "boot", TimeZone: "UTC", Intervals: iv}); err != nil {
				t.Fatal(err)
			}
		}
		late := r.Int64N(1e6)
		at := metric.Stamp{Wall: began + skew + int64(i)*1e9 + late, Cont: skew + int64(i+1)*1e9 + late}
		at.Awake = at.Cont - skew
		if i == seconds/3 {
			before := at
			skew += 600e9
			at.Wall, at.Cont = at.Wall+600e9, at.Cont+600e9
			event(t, w, metric.Event{At: before, Kind: metric.EventSleep})
			event(t, w, metric.Event{At: metric.Stamp{Wall: at.Wall - 1e6, Cont: at.Cont - 1e6, Awake: at.Awake}, Kind: metric.EventWake})
		}
		lev += uint64(r.IntN(21)) - 10
		cnt += uint64(r.IntN(100))
		if r.IntN(150) == 0 {
			cnt = uint64(r.IntN(2000)) // reset; it may well be past where it was when the step ends
		}
		nar = (nar + uint64(r.IntN(300))) & math.MaxUint32
		dip += uint64(r.IntN(5))
		if r.IntN(40) == 0 {
			dip -= 3
		}
		if r.IntN(200) == 0 {
			set++
		}
		if r.IntN(200) == 0 {
			word = string(rune('a' + r.IntN(20)))
		}
		one := func(bits uint64) metric.Column { return metric.Column{Bits: []uint64{bits}} }
		b := &metric.Block{Group: system, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{
			one(lev), one(math.Float64bits(float64(lev) / 7)), one(cnt), one(nar), one(dip), one(set), {Bits: []uint64{0}, Words: []string{word}}}}
		if i/37%9 == 4 {
			b.Cols[1] = metric.Column{Bits: []uint64{0}, Miss: []metric.Reason{metric.Permission}}
		}
		tick := &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}
		d := &metric.Block{Group: disks, At: at, Cols: make([]metric.Column, 2)}
		for k, name := range []string{"sda", "sdb"} {
			if k == 1 && i/100%2 == 1 {
				continue
			}
			counts[name] += uint64(r.IntN(9))
			d.Rows = append(d.Rows, &metric.Instance{Key: name, Name: name})
			d.Cols[0].Bits = append(d.Cols[0].Bits, counts[name])
			d.Cols[1].Bits = append(d.Cols[1].Bits, uint64(r.IntN(4)))
		}
		tick.Blocks = append(tick.Blocks, d)
		appendTick(t, w, tick)
		if i%5 != 0 {
			continue
		}
		for range r.IntN(3) {
			start := time.Unix(0, at.Wall-1e9).UTC().Format(time.RFC3339Nano)
			running = append(running, &proc{in: &metric.Instance{Key: fmt.Sprintf("%d/1", next), Name: fmt.Sprintf("%d prog%d", next, next%4),
				Labels: []metric.Label{{Name: "start", Value: start}}}, used: uint64(r.IntN(50)), ends: i + 1 + r.IntN(1+r.IntN(300))})
			next++
		}
		p := &metric.Block{Group: procs, At: at, Cols: make([]metric.Column, 4)}
		p.Cols[3].Words = []string{"root"}
		var left []*proc
		for _, x := range running {
			if x.ends <= i {
				continue
			}
			left = append(left, x)
			x.used += uint64(r.IntN(100))
			p.Rows = append(p.Rows, x.in)
			p.Cols[0].Bits = append(p.Cols[0].Bits, x.used)
			p.Cols[1].Bits = append(p.Cols[1].Bits, 100+uint64(r.IntN(1000)))
			p.Cols[2].Bits = append(p.Cols[2].Bits, 1)
			p.Cols[3].Bits = append(p.Cols[3].Bits, 0)
		}
		running = left
		appendTick(t, w, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{p}})
	}
	finish(t, w)
	return paths
}

func appendTick(t *testing.T, w *rewrite.Writer, tick *metric.Tick) {
	t.Helper()
	if err := w.Append(tick); err != nil {
		t.Fatal(err)
	}
}

func event(t *testing.T, w *rewrite.Writer, e metric.Event) {
	t.Helper()
	if err := w.Event(&e); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, w *rewrite.Writer) {
	t.Helper()
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

// reduced makes a reduced archive of others.
func reduced(t *testing.T, opt reduce.Options, paths ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reduced.tacho")
	if err := into(path, opt, paths...); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, path)
	return path
}

func into(path string, opt reduce.Options, paths ...string) error {
	var files []*archive.File
	for _, p := range paths {
		f, err := archive.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		files = append(files, f)
	}
	return reduce.Archive(context.Background(), path, files, opt)
}

func open(t *testing.T, paths ...string) *store.Reader {
	t.Helper()
	r, err := store.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

var metrics = []string{"t.level", "t.float", "t.counter", "t.narrow", "t.dipping", "t.setting", "t.disk", "t.queue"}

// ranges are those of a window, by metric and instance.
func ranges(t *testing.T, a query.Archive, from, to int64) map[string]query.Range {
	t.Helper()
	out := make(map[string]query.Range)
	for r, err := range query.Ranges(a, query.RangeRequest{Request: query.Request{Window: query.Window{From: from, To: to}, Metrics: metrics}, Percentiles: true}) {
		if err != nil {
			t.Fatal(err)
		}
		name := r.Name
		if r.Instance != nil {
			name += "/" + r.Instance.Key
		}
		out[name] = *r
	}
	return out
}

// stepGain is what a counter gains in a step of a reduced archive, on the average. A mean that
// is off by half of it takes the end of each step for all of it.
func stepGain(r query.Range, of query.Archive) float64 {
	step := int64(0)
	for _, in := range of.Archives() {
		step = max(step, in.Step)
	}
	return r.Increase * min(1, float64(step)/1e9/r.Seconds)
}

// same fails unless two archives answer the same of a window of whole steps.
func same(t *testing.T, want, got query.Archive, from, to int64) {
	t.Helper()
	x, y := ranges(t, want, from, to), ranges(t, got, from, to)
	if len(x) != len(y) {
		t.Errorf("%d series instead of %d", len(y), len(x))
	}
	when := fmt.Sprintf("%s to %s", time.Unix(0, from).UTC().Format(time.TimeOnly), time.Unix(0, to).UTC().Format(time.TimeOnly))
	for name, a := range x {
		b := y[name]
		if a.Count != b.Count || a.Missing != b.Missing || a.From != b.From || a.To != b.To || a.First != b.First || a.Last != b.Last ||
			a.Name != "t.dipping" && (a.Min != b.Min || a.Max != b.Max) || a.Resets != b.Resets || a.Wraps != b.Wraps ||
			math.Float64bits(a.Increase) != math.Float64bits(b.Increase) || math.Abs(a.Steady-b.Steady) > 0 || math.Abs(a.Seconds-b.Seconds) > 1e-6 {
			t.Errorf("%s, %s:\n got %+v\nwant %+v", name, when, b, a)
		}
		most := math.Abs(a.Mean) * 0x1p-24
		if a.Metric.Sem == metric.Counter {
			most = stepGain(a, got)/4 + a.Increase/float64(a.Count)
		}
		if !(math.Abs(a.Mean-b.Mean) <= most) && a.Count > 0 {
			t.Errorf("%s, %s: a mean of %v instead of %v", name, when, b.Mean, a.Mean)
		}
		if b.P50 == b.P50 && b.Min != b.Max && !slices.ContainsFunc(got.Archives(), func(in *store.ArchiveInfo) bool { return in.Step == 0 }) {
			t.Errorf("%s, %s: a median of %v out of steps", name, when, b.P50)
		}
	}
}

func TestRangesOfWholeStepsAreTheSame(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 4, 4)) {
		parts := 1 + int(seed)%3
		paths := record(t, seed, 3000, parts)
		a := open(t, paths...)
		for _, step := range []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute} {
			t.Run(fmt.Sprintf("%d parts, %v", parts, step), func(t *testing.T) {
				path := reduced(t, reduce.Options{Step: step}, paths...)
				b := open(t, path)
				same(t, a, b, 0, 0)
				r := rand.New(rand.NewPCG(seed, 2))
				first := began - began%int64(step)
				for range 40 {
					from := first + r.Int64N(3600e9/int64(step))*int64(step)
					to := from + (1+r.Int64N(1200e9/int64(step)))*int64(step) - 1
					same(t, a, b, from, to)
				}
			})
		}
	}
}

func TestReducingAgainStaysExact(t *testing.T) {
	paths := record(t, 7, 2500, 2)
	a := open(t, paths...)
	minute := reduced(t, reduce.Options{Step: time.Minute}, paths...)
	five := open(t, reduced(t, reduce.Options{Step: 5 * time.Minute}, minute))
	same(t, a, five, 0, 0)
	for from := began - began%300e9; from < began+3600e9; from += 300e9 {
		same(t, a, five, from, from+300e9-1)
	}
	for _, step := range []time.Duration{90 * time.Second, time.Minute, 20 * time.Second} {
		err := into(filepath.Join(t.TempDir(), "x.tacho"), reduce.Options{Step: step}, minute)
		if err == nil {
			t.Errorf("steps of a minute became steps of %v", step)
		}
	}
}

func total(t *testing.T, a query.Archive, w query.Window) (sum float64, n int) {
	t.Helper()
	r, err := query.Top(a, w, query.ByCPU, query.PerProcess, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Consumers {
		sum += c.Gains[query.UserTime]
	}
	return math.Round(sum * 1e6), len(r.Consumers)
}

// The mean of what a process has used is what its readings say, but for how it came about within
// steps, and is neither too large nor too small on the average.
func TestMeansOfCountersOfProcesses(t *testing.T) {
	paths := record(t, 12, 2500, 2)
	first := began - began%300e9
	of := func(a query.Archive, w query.Window) map[string]query.Range {
		out := make(map[string]query.Range)
		for r, err := range query.Ranges(a, query.RangeRequest{Request: query.Request{Window: w, Metrics: []string{utime.Name}}}) {
			if err != nil {
				t.Fatal(err)
			}
			out[r.Instance.Key] = *r
		}
		return out
	}
	a := open(t, paths...)
	for _, step := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute} {
		b := open(t, reduced(t, reduce.Options{Step: step}, paths...))
		for _, w := range []query.Window{{}, {From: first + 600e9, To: first + 1800e9 - 1}} {
			want, got := of(a, w), of(b, w)
			off, whole, n := 0.0, 0.0, 0
			for key, r := range want {
				// A window of one reading has no mean over time.
				if g, ok := got[key]; ok && r.Count > 2 {
					gain := min(r.Max.Number()-r.Min.Number(), 10*step.Seconds())
					off, whole, n = off+g.Mean-r.Mean, whole+gain, n+1
					if most := 0.5*gain + 150; !(math.Abs(g.Mean-r.Mean) <= most) {
						t.Errorf("%v, process %s: a mean of %v instead of %v, within %v", step, key, g.Mean, r.Mean, most)
					}
				}
			}
			if n < 50 || math.Abs(off) > 0.1*whole {
				t.Errorf("%v: means of %d processes are off by %v of %v on the average", step, n, off/float64(n), whole/float64(n))
			}
		}
	}
}

func TestProcessesStayToldOf(t *testing.T) {
	paths := record(t, 11, 2500, 2)
	a := open(t, paths...)
	want, n := total(t, a, query.Window{})
	for name, opt := range map[string]reduce.Options{
		"all":  {Step: time.Minute},
		"some": {Step: time.Minute, Process: func(key string) bool { return strings.HasPrefix(key, "1") }},
		"none": {Step: time.Minute, Process: func(string) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, reduced(t, opt, paths...))
			got, m := total(t, b, query.Window{})
			if got != want || name == "all" && m != n || name == "none" && m != 1 {
				t.Errorf("%d processes used %v, %d used %v before", m, got, n, want)
			}
		})
	}
	b := open(t, reduced(t, reduce.Options{Step: time.Minute}, paths...))
	names := make(map[string]*store.Life)
	for l := range b.Lives("process", 0, 0) {
		names[l.Instance.Key] = l
	}
	for l := range a.Lives("process", 0, 0) {
		x := names[l.Instance.Key]
		if x == nil || x.Instance.Name != l.Instance.Name || x.From < l.From || x.From-l.From > 60e9 || x.To < l.To || x.To-l.To > 60e9 {
			t.Errorf("%s: %+v instead of %+v", l.Instance.Name, x, l)
		}
	}
	// At the end of each step the table of processes is the one that was recorded.
	swept := make(map[int64]bool)
	for run := range b.Select(store.Selection{Metrics: []string{"proc.psinfo.utime"}}) {
		for _, at := range run.Wall {
			if swept[at] {
				continue
			}
			swept[at] = true
			var x, y []string
			for _, p := range query.Processes(a, query.Window{}, at, nil) {
				x = append(x, p.Name)
			}
			for _, p := range query.Processes(b, query.Window{}, at, nil) {
				y = append(y, p.Name)
			}
			slices.Sort(x)
			slices.Sort(y)
			if !slices.Equal(x, y) {
				t.Errorf("%s: processes %v instead of %v", time.Unix(0, at).UTC(), y, x)
			}
		}
	}
}

func TestPeaksOfMemoryAreKept(t *testing.T) {
	paths := record(t, 12, 1500, 1)
	peaks := func(a query.Archive) map[string]float64 {
		r, err := query.Top(a, query.Window{}, query.ByMemory, query.PerProcess, 0)
		if err != nil {
			t.Fatal(err)
		}
		out := make(map[string]float64)
		for _, c := range r.Consumers {
			out[c.Instance.Key] = c.Peak
		}
		return out
	}
	want, got := peaks(open(t, paths...)), peaks(open(t, reduced(t, reduce.Options{Step: time.Minute}, paths...)))
	for key, x := range want {
		if got[key] != x {
			t.Errorf("%s held %v at most, not %v", key, x, got[key])
		}
	}
}

func TestNothingIsCountedTwice(t *testing.T) {
	paths := record(t, 13, 2400, 3)
	want, n := total(t, open(t, paths...), query.Window{})
	all := reduced(t, reduce.Options{Step: time.Minute}, paths...)
	coarse := reduced(t, reduce.Options{Step: 5 * time.Minute}, all)
	a := open(t, paths...)
	for name, list := range map[string][]string{
		"all of both":     append([]string{all}, paths...),
		"the first gone":  {all, paths[1], paths[2]},
		"the middle gone": {paths[0], all, paths[2]},
		"the last gone":   {paths[0], paths[1], all},
		"two reduced":     {all, coarse, paths[1]},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, list...)
			if got, m := total(t, b, query.Window{}); got != want || m != n {
				t.Errorf("%d processes used %v instead of %d that used %v", m, got, n, want)
			}
			same(t, a, b, 0, 0)
			events := 0
			for range b.Events(0, 0) {
				events++
			}
			if events != 2 {
				t.Errorf("%d events instead of 2", events)
			}
		})
	}
}

func TestOneTickForEachStep(t *testing.T) {
	paths := record(t, 14, 1500, 1)
	a := open(t, reduced(t, reduce.Options{Step: time.Minute}, paths...))
	ticks := make(map[int64]map[int64]bool)
	for run := range a.Select(store.Selection{Metrics: []string{"proc.psinfo.utime"}}) {
		for _, at := range run.Wall {
			if ticks[at/60e9] == nil {
				ticks[at/60e9] = make(map[int64]bool)
			}
			ticks[at/60e9][at] = true
		}
	}
	for step, of := range ticks {
		if len(of) > 1 && step != began/60e9 {
			t.Errorf("%d sweeps in the step of %s", len(of), time.Unix(step*60, 0).UTC())
		}
	}
}

func TestWhatIsRefusedOrEndedLeavesNothing(t *testing.T) {
	paths := record(t, 15, 600, 1)
	dir := t.TempDir()
	for name, opt := range map[string]reduce.Options{
		"a step of 7 s": {Step: 7 * time.Second}, "no step": {}, "half a second": {Step: time.Second / 2}, "two days": {Step: 48 * time.Hour},
	} {
		if err := into(filepath.Join(dir, "x.tacho"), opt, paths...); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	f, err := archive.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := range 30 {
		ctx, cancel := context.WithCancel(context.Background())
		left := n
		err := reduce.Archive(ctx, filepath.Join(dir, "x.tacho"), []*archive.File{f}, reduce.Options{Step: time.Minute, Pace: func() {
			if left--; left < 0 {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			os.Remove(filepath.Join(dir, "x.tacho"))
			continue
		}
		if list, _ := os.ReadDir(dir); !errors.Is(err, context.Canceled) || len(list) > 0 {
			t.Fatalf("ended at %d: %v, and there is %v", n, err, list)
		}
	}
}

func TestOlderReadersSeeAnOrdinaryArchive(t *testing.T) {
	paths := record(t, 16, 600, 1)
	path := reduced(t, reduce.Options{Step: time.Minute}, paths...)
	h, err := layout.ReadHeader(path)
	if err != nil || h.Format != layout.FormatVersion || h.Reduced == nil || h.Reduced.Step != int64(time.Minute) || len(h.Reduced.Of) != 1 {
		t.Fatalf("%+v, %v", h, err)
	}
	a := open(t, path)
	for _, d := range a.Metrics() {
		if strings.HasPrefix(d.Name, "reduced.") && d.Help == "" {
			t.Errorf("%s has no help", d.Name)
		}
	}
}
