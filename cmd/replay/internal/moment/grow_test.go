package moment

import (
	"math"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// A recording that grows while it is looked at shows what one shows that is opened
// anew, and the past stays where it was.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	group := &metric.Group{Name: "cpu", Metrics: []*metric.Desc{
		{Name: "kernel.all.cpu.user", Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Class: metric.Fast},
		{Name: "mem.util.used", Type: metric.U64, Sem: metric.Instant, Units: metric.Kbytes, Class: metric.Fast}}}
	at := func(s int) metric.Stamp {
		return metric.Stamp{Wall: 1_700_000_000e9 + int64(s)*1e9, Awake: int64(s+100) * 1e9, Cont: int64(s+100) * 1e9}
	}
	clock := proof.NewClock(at(0))
	w, err := recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: "h", Name: "h"}, BootID: "b", Now: clock.Now,
		Intervals: metric.Intervals{metric.Fast: time.Second, metric.Process: 5 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	record := func(from, to int) {
		for s := from; s < to; s++ {
			clock.Set(at(s))
			b := &metric.Block{Group: group, At: at(s), Rows: []*metric.Instance{nil},
				Cols: []metric.Column{{Bits: []uint64{uint64(400*s + s%7*50)}}, {Bits: []uint64{uint64(1000 + s%100)}}}}
			if err := w.Append(&metric.Tick{Class: metric.Fast, At: at(s), Blocks: []*metric.Block{b}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	record(0, 60)
	a, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r, err := Open(a, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	first := r.Step(at(30).Wall, 0)
	for _, upTo := range []int{61, 62, 600, 4000, 4001, 12000, 12010} {
		_, before := r.Span()
		record(int((before-at(0).Wall)/1e9)+1, upTo)
		if err := a.Refresh(); err != nil {
			t.Fatal(err)
		}
		if err := r.Refresh(); err != nil {
			t.Fatal(err)
		}
		fresh, err := Open(a, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh.cell = r.cell
		from, to := r.Span()
		if _, want := fresh.Span(); to != want || to <= before {
			t.Fatalf("it reaches to %d, one opened anew to %d, before to %d", to, want, before)
		}
		if got := r.Step(to, 0); got != fresh.Step(to, 0) || r.Step(at(30).Wall, 0) != first {
			t.Errorf("up to %d: the last sample is %d, of one opened anew %d", upTo, got, fresh.Step(to, 0))
		}
		x, y := exact(t, r, from, to, 50), exact(t, fresh, from, to, 50)
		if len(x.Lanes) != len(y.Lanes) || len(x.Lanes) == 0 {
			t.Fatalf("%d lanes, of one opened anew %d", len(x.Lanes), len(y.Lanes))
		}
		for i := range x.Lanes {
			for k := range x.Lanes[i].Mean {
				if a, b := x.Lanes[i].Mean[k], y.Lanes[i].Mean[k]; math.Abs(a-b) > 1e-6*math.Abs(b) || math.IsNaN(a) != math.IsNaN(b) {
					t.Errorf("up to %d, %s, column %d: %v, of one opened anew %v", upTo, x.Lanes[i].Name, k, a, b)
				}
			}
		}
	}
}
