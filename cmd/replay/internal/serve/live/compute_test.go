package live

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// A workshop makes up what metrics are computed of: counters and levels of disks
// that come and go, and of memory.
type workshop struct {
	rnd    *rand.Rand
	at     metric.Stamp
	n      int
	groups []*metric.Group // disk.dev, disk.all; mem
	disks  []*metric.Instance
	bits   map[string]uint64
	descs  []*metric.Desc
}

func newWorkshop(t *testing.T) *workshop {
	w := &workshop{rnd: rand.New(rand.NewPCG(4, 4)), at: metric.Stamp{Wall: 1700000000e9, Awake: 5000e9, Cont: 5000e9}, bits: make(map[string]uint64)}
	for _, names := range [][]string{
		{"disk.dev.total_bytes", "disk.dev.total", "disk.dev.total_read_time", "disk.dev.total_write_time"},
		{"disk.all.total_bytes", "disk.all.total", "disk.all.total_read_time", "disk.all.total_write_time"},
		{"mem.util.used", "mem.physmem", "swap.used", "swap.length", "kernel.all.uptime"},
	} {
		g := &metric.Group{Name: names[0]}
		for _, name := range names {
			d := catalog.Find(catalog.Linux, name)
			if d == nil {
				t.Fatal("there is no ", name)
			}
			if d.Class != metric.Fast {
				d.Class = metric.Polled
			}
			g.Indom, g.Metrics, w.descs = d.Indom, append(g.Metrics, d), append(w.descs, d)
		}
		w.groups = append(w.groups, g)
	}
	for i := range 3 {
		w.disks = append(w.disks, &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprint("sd", i), Name: fmt.Sprint("sd", i)})
	}
	w.descs = append(w.descs, catalog.Select(catalog.Linux, func(d *metric.Desc) bool { return d.Formula != "" })...)
	return w
}

// next are the ticks of the next second.
func (w *workshop) next() (ticks []*metric.Tick) {
	w.n++
	step := int64(1e9) + w.rnd.Int64N(1e6)
	w.at.Wall, w.at.Awake, w.at.Cont = w.at.Wall+step, w.at.Awake+step, w.at.Cont+step
	at := w.at
	tick := func(class metric.Class, groups ...*metric.Group) {
		t := &metric.Tick{Class: class, At: at}
		for _, g := range groups {
			at.Wall, at.Awake, at.Cont = at.Wall+1e5, at.Awake+1e5, at.Cont+1e5
			t.Blocks = append(t.Blocks, w.block(g, at))
		}
		ticks = append(ticks, t)
	}
	if w.n%5 == 0 {
		tick(metric.Polled, w.groups[2])
	}
	tick(metric.Fast, w.groups[0], w.groups[1])
	return ticks
}

func (w *workshop) block(g *metric.Group, at metric.Stamp) *metric.Block {
	b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(g.Metrics))}
	if g.Indom != metric.NoIndom {
		b.Rows = w.disks[:1+w.n/13%3]
	}
	for c, d := range g.Metrics {
		for _, in := range b.Rows {
			key := d.Name
			if in != nil {
				key += in.Key
			}
			if w.rnd.IntN(3) > 0 {
				w.bits[key] += uint64(w.rnd.IntN(1000))
			}
			v := metric.Value{Type: d.Type, Bits: w.bits[key]}
			if d.Type.Float() {
				v.Bits = uint64(0x4059000000000000) + w.bits[key]<<20
			}
			if w.rnd.IntN(30) == 0 {
				v = metric.Value{Type: d.Type, Miss: metric.Permission}
			}
			b.Cols[c].Push(v)
		}
	}
	return b
}

// What is computed as it is recorded is what replay computes of the archive
// afterwards, also for who comes back.
func TestComputedMetrics(t *testing.T) {
	w := newWorkshop(t)
	var intervals metric.Intervals
	intervals[metric.Fast], intervals[metric.Polled] = time.Second, 5*time.Second
	r := newRig(t, w.descs, intervals, w.at)
	play := func(n int) {
		for range n {
			for _, tick := range w.next() {
				r.append(tick)
			}
		}
	}
	play(7)
	tl := r.tail(everything())
	tl.wait(t, r)
	for k := range 5 {
		play(11)
		tl.wait(t, r)
		if k == 2 {
			r.rotate()
		}
	}
	first := tl.end(t)
	want := r.computed(w.descs)
	if n := compareComputed(t, first, want); n < 300 {
		t.Errorf("%d values were computed", n)
	}
	for i := 3; i < len(first.positions); i += 7 {
		req := everything()
		req.Position = first.positions[i]
		again := r.tail(req)
		again.wait(t, r)
		compareComputed(t, again.end(t), want)
		if t.Failed() {
			t.Fatalf("position %d of %d", i, len(first.positions))
		}
	}
	r.stop()
	settled(t)
}

// compareComputed compares what was told of computed metrics with what an archive
// says, and counts it.
func compareComputed(t *testing.T, l *log, want map[cell]string) (n int) {
	t.Helper()
	wrong := 0
	for c, v := range l.values {
		if d := catalog.Find(catalog.Linux, c.metric); d == nil || d.Formula == "" {
			continue
		}
		// Of the first tick of all it is not known what came before it.
		if w, ok := want[c]; (!ok || w != v) && c.wall > l.first+1e6 {
			if wrong++; wrong < 4 {
				t.Errorf("%+v: told %q, computed %q (%v)", c, v, w, ok)
			}
		}
		n++
	}
	for c, v := range want {
		// Asked of an archive, a disk that is not there has values that are absent.
		if _, ok := l.values[c]; !ok && !strings.HasPrefix(v, "|") && c.wall > l.first+1e6 && c.wall < l.last.UnixNano()-6e9 {
			if wrong++; wrong < 4 {
				t.Errorf("%+v is not told", c)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d are wrong", wrong, n)
	}
	return n
}

// computed is what the computed ones of metrics come to, by the archive.
func (r *rig) computed(metrics []*metric.Desc) map[cell]string {
	rd, err := store.Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rd.Close()
	all := make(map[cell]string)
	for _, d := range metrics {
		if d.Formula == "" {
			continue
		}
		e, err := query.Compile(rd, nil, d.Name)
		if err != nil {
			continue
		}
		for s, err := range query.Evaluate(rd, e, query.Request{Mode: query.Raw}) {
			if err != nil {
				r.t.Fatal(err)
			}
			key := ""
			if s.Instance != nil {
				key = s.Instance.Key
			}
			for i, wall := range s.Wall {
				v := s.Value(i)
				miss := ""
				if v.Miss != metric.Present {
					miss = v.Miss.String()
				}
				all[cell{d.Name, key, wall}] = v.String() + "|" + miss
			}
		}
	}
	return all
}
