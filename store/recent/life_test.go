package recent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/recent"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// A life is a machine to which everything happens that matters to questions:
// counters are reset, wrap and dip, values are absent, processes come, go, call
// exec and take over the numbers of others, disks are attached and detached, the
// machine sleeps and boots, archives follow each other.
type life struct {
	t      *testing.T
	r      *rand.Rand
	dir    string
	clock  *proof.Clock
	w      *recording.Writer
	recent []*recent.Archive
	info   *archive.Info
	boots  int
	next   uint64
	state  map[string]uint64
	disks  []*metric.Instance
	procs  []*metric.Instance
	away   bool // the second disk
	skip   metric.Class
	// renames says that processes call exec.
	renames bool
	ticked  func(metric.Class)
}

func desc(name string, typ metric.Type, sem metric.Semantics, u metric.Units, indom string, class metric.Class) *metric.Desc {
	return &metric.Desc{Name: name, Type: typ, Sem: sem, Units: u, Indom: indom, Class: class, Help: "For tests.", Source: "test"}
}

var (
	fixed  = &metric.Group{Name: "fixed", Metrics: []*metric.Desc{desc("fix.ncpu", metric.U32, metric.Discrete, metric.Counts, "", metric.Static)}}
	kernel = &metric.Group{Name: "kernel", Metrics: []*metric.Desc{
		desc("k.wide", metric.U64, metric.Counter, metric.Bytes, "", metric.Fast),
		desc("k.time", metric.U64, metric.Counter, metric.Milliseconds, "", metric.Fast),
		{Name: "k.narrow", Type: metric.U64, Sem: metric.Counter, Width: 32, Units: metric.Counts, Class: metric.Fast},
		desc("k.level", metric.F64, metric.Instant, metric.Kbytes, "", metric.Fast),
		desc("k.state", metric.String, metric.Discrete, metric.NoUnits, "", metric.Fast),
	}}
	drives = &metric.Group{Name: "drives", Indom: "disk", Metrics: []*metric.Desc{
		desc("d.ops", metric.U32, metric.Counter, metric.Counts, "disk", metric.Fast),
		desc("d.queue", metric.I32, metric.Instant, metric.Counts, "disk", metric.Fast),
	}}
	sizes = &metric.Group{Name: "sizes", Indom: "disk", Metrics: []*metric.Desc{
		desc("d.size", metric.U64, metric.Discrete, metric.Bytes, "disk", metric.Polled),
		desc("d.errors", metric.U64, metric.Counter, metric.Counts, "disk", metric.Polled),
	}}
	procs = &metric.Group{Name: "procs", Indom: "process", Metrics: []*metric.Desc{
		desc("proc.psinfo.utime", metric.U64, metric.Counter, metric.Milliseconds, "process", metric.Process),
		desc("proc.psinfo.stime", metric.U64, metric.Counter, metric.Milliseconds, "process", metric.Process),
		desc("proc.memory.rss", metric.U64, metric.Instant, metric.Kbytes, "process", metric.Process),
		desc("proc.psinfo.sname", metric.String, metric.Discrete, metric.NoUnits, "process", metric.Process),
	}}
	computed = []*metric.Desc{
		{Name: "c.speed", Type: metric.F64, Sem: metric.Instant, Units: metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}, Class: metric.Fast, Formula: "rate(k.wide)", Help: "h", Source: "computed"},
		{Name: "c.total", Type: metric.F64, Sem: metric.Instant, Units: metric.PerSecond, Class: metric.Fast, Formula: "sum(rate(d.ops)) + rate(k.narrow)", Help: "h", Source: "computed"},
	}
)

var intervals = metric.Intervals{metric.Fast: time.Second, metric.Polled: 5 * time.Second, metric.Process: 2 * time.Second, metric.Static: metric.Once}

func catalog() []*metric.Desc {
	return slices.Concat(fixed.Metrics, kernel.Metrics, drives.Metrics, sizes.Metrics, procs.Metrics, computed)
}

func newLife(t *testing.T, seed uint64, all ...*recent.Archive) *life {
	l := &life{t: t, r: rand.New(rand.NewPCG(seed, 5)), dir: t.TempDir(), recent: all,
		clock: proof.NewClock(metric.Stamp{Wall: 1_790_000_000e9, Awake: 900e9, Cont: 1000e9})}
	for _, a := range all {
		a.Describe(computed...)
	}
	l.disks = []*metric.Instance{{ID: 1, Key: "sda", Name: "sda"}, {ID: 2, Key: "sdb", Name: "sdb"}}
	l.create()
	t.Cleanup(func() { l.w.Close() })
	return l
}

// create begins to record a boot.
func (l *life) create() {
	l.state = make(map[string]uint64)
	l.procs = nil
	l.boots++
	host := metric.Host{ID: "h", Name: "host", OS: "Linux", Platform: "linux"}
	opt := recording.Options{Dir: l.dir, Host: host, BootID: fmt.Sprint("boot ", l.boots), TimeZone: "UTC", Recorder: "test",
		Catalog: catalog(), Intervals: intervals, Seal: time.Minute, Sync: time.Hour, Now: l.clock.Now}
	var err error
	if l.w, err = recording.Create(opt); err != nil {
		l.t.Fatal(err)
	}
	l.archive()
}

// archive is another archive of the same boot.
func (l *life) archive() {
	l.next++
	l.info = &archive.Info{ID: fmt.Sprint("archive ", l.next), Host: metric.Host{ID: "h", Name: "host", OS: "Linux", Platform: "linux"},
		BootID: fmt.Sprint("boot ", l.boots), TimeZone: "UTC", Intervals: intervals, Live: true}
	l.tick(metric.Static, l.block(fixed, []*metric.Instance{nil}))
}

func (l *life) event(kind metric.EventKind, indom, key string, labels ...metric.Label) {
	e := metric.Event{At: l.clock.Now(), Kind: kind, Text: "It happened.", Indom: indom, Key: key, Labels: labels}
	if err := l.w.Event(e); err != nil {
		l.t.Fatal(err)
	}
	for _, a := range l.recent {
		a.Event(l.info, &e)
	}
}

func (l *life) tick(class metric.Class, blocks ...*metric.Block) {
	t := &metric.Tick{Class: class, At: l.clock.Now(), Blocks: blocks}
	if err := l.w.Append(t); err != nil {
		l.t.Fatal(err)
	}
	for _, a := range l.recent {
		a.Tick(l.info, t)
	}
	if l.ticked != nil {
		l.ticked(class)
	}
	for _, b := range t.Blocks { // It is filled again with the next.
		for i := range b.Cols {
			clear(b.Cols[i].Bits)
			clear(b.Cols[i].Miss)
		}
	}
}

func (l *life) pass(d time.Duration) {
	at := l.clock.Now()
	at.Wall, at.Awake, at.Cont = at.Wall+int64(d), at.Awake+int64(d), at.Cont+int64(d)
	l.clock.Set(at)
}

// step is a second and what happens in it.
func (l *life) step(n int) {
	l.pass(time.Second + time.Duration(l.r.IntN(2e6)))
	switch l.r.IntN(40) {
	case 0:
		l.event(metric.EventSleep, "", "")
		at := l.clock.Now()
		long := int64(1+l.r.IntN(600)) * 1e9
		at.Wall, at.Cont = at.Wall+long, at.Cont+long
		l.clock.Set(at)
		l.event(metric.EventWake, "", "", metric.Period(time.Unix(0, at.Wall-long), time.Duration(long))...)
	case 1:
		l.pass(time.Duration(l.r.IntN(60)) * time.Second) // a gap that nobody noticed
	case 2:
		l.away = !l.away
		l.event(metric.EventDevice, "disk", "sdb")
	case 3:
		if _, err := l.w.Rotate("test"); err != nil {
			l.t.Fatal(err)
		}
		l.archive()
	case 4:
		if l.r.IntN(2) == 0 {
			break
		}
		if err := l.w.Close(); err != nil {
			l.t.Fatal(err)
		}
		at := l.clock.Now()
		l.clock.Set(metric.Stamp{Wall: at.Wall + 30e9, Awake: 5e9, Cont: 5e9})
		l.create()
		l.event(metric.EventBoot, "", "")
	case 5:
		l.skip = []metric.Class{metric.Fast, metric.Polled, metric.Process}[l.r.IntN(3)]
		defer func() { l.skip = metric.Disabled }()
	}
	l.people()
	disks := l.disks
	if l.away {
		disks = disks[:1]
	}
	if l.skip != metric.Fast {
		l.tick(metric.Fast, l.block(kernel, []*metric.Instance{nil}), l.block(drives, disks))
	}
	if n%2 == 0 && l.skip != metric.Process {
		l.tick(metric.Process, l.block(procs, slices.Clone(l.procs)))
	}
	if n%5 == 0 && l.skip != metric.Polled {
		l.tick(metric.Polled, l.block(sizes, disks))
	}
}

// people makes processes come, go and change.
func (l *life) people() {
	for len(l.procs) < 4 || l.r.IntN(3) == 0 && len(l.procs) < 12 {
		l.next++
		pid := 100 + l.r.IntN(15) // Numbers come again.
		if slices.ContainsFunc(l.procs, func(in *metric.Instance) bool { return in.Label("pid") == fmt.Sprint(pid) }) {
			continue
		}
		at := l.clock.Now()
		in := &metric.Instance{ID: l.next, Key: fmt.Sprint(pid, "@", at.Cont), Name: fmt.Sprintf("%06d sh", pid),
			Labels: []metric.Label{{Name: "pid", Value: fmt.Sprint(pid)}, {Name: "uid", Value: fmt.Sprint(l.r.IntN(3))}}}
		if l.r.IntN(2) == 0 {
			in.Labels = append(in.Labels, metric.Label{Name: "start", Value: time.Unix(0, at.Wall).UTC().Format(time.RFC3339Nano)})
		}
		l.procs = append(l.procs, in)
		l.event(metric.EventProcessStart, "process", in.Key)
	}
	if l.r.IntN(3) == 0 {
		i := l.r.IntN(len(l.procs))
		l.event(metric.EventProcessExit, "process", l.procs[i].Key)
		l.procs = slices.Delete(l.procs, i, i+1)
	}
	if l.renames && l.r.IntN(4) == 0 {
		in := l.procs[l.r.IntN(len(l.procs))]
		in.Name, in.Rev = fmt.Sprintf("%06s %s", in.Label("pid"), []string{"sh", "make", "cc"}[l.r.IntN(3)]), in.Rev+1
	}
}

func (l *life) block(g *metric.Group, rows []*metric.Instance) *metric.Block {
	b := &metric.Block{Group: g, At: l.clock.Now(), Rows: rows, Cols: make([]metric.Column, len(g.Metrics))}
	for c, d := range g.Metrics {
		for _, in := range rows {
			b.Cols[c].Push(l.value(d, in))
		}
		if !slices.ContainsFunc(b.Cols[c].Miss, func(why metric.Reason) bool { return why != metric.Present }) {
			b.Cols[c].Miss = nil
		}
	}
	return b
}

func (l *life) value(d *metric.Desc, in *metric.Instance) metric.Value {
	if l.r.IntN(15) == 0 {
		return metric.Value{Type: d.Type, Miss: metric.Permission}
	}
	key := d.Name
	if in != nil {
		key += in.Key
	}
	x := l.state[key]
	switch {
	case d.Type == metric.String:
		return metric.Value{Type: d.Type, Str: []string{"", "S", "R", "\x1b[2J"}[l.r.IntN(4)]}
	case d.Type == metric.F64:
		return metric.Value{Type: d.Type, Bits: math.Float64bits(float64(l.r.IntN(1000)) / 8)}
	case d.Sem != metric.Counter:
		return metric.Value{Type: d.Type, Bits: uint64(l.r.IntN(50)) * 1000}
	case l.r.IntN(20) == 0 && in == nil:
		x = uint64(l.r.IntN(1000)) // It was reset.
	case l.r.IntN(15) == 0:
		x -= min(x/8, uint64(l.r.IntN(50))) // It dips.
	case l.r.IntN(15) == 0:
		x += 1 << 31
	default:
		x += uint64(l.r.IntN(900))
	}
	if d.Bits() == 32 {
		x &= math.MaxUint32
	}
	l.state[key] = x
	return metric.Value{Type: d.Type, Bits: x}
}

// reader reads what was written.
func (l *life) reader() *store.Reader {
	r, err := store.Open(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}
