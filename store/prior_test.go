package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// TestWhatEarlierBootsLeftComesFirst asks for what was read before a window: each
// boot's comes in its turn, or the older would seem to be the newer.
func TestWhatEarlierBootsLeftComesFirst(t *testing.T) {
	dir := t.TempDir()
	d := &metric.Desc{Name: "a.state", Type: metric.I64, Sem: metric.Discrete, Class: metric.Fast, Help: "h", Source: "test"}
	g := &metric.Group{Name: "a", Metrics: []*metric.Desc{d}}
	at := metric.Stamp{Wall: 1_790_000_000e9, Awake: 10e9, Cont: 10e9}
	clock := proof.NewClock(at)
	for boot := range uint64(3) {
		w, err := recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: "h", Name: "h"}, BootID: fmt.Sprint("b", boot), Catalog: g.Metrics,
			Intervals: metric.Intervals{metric.Fast: time.Second}, Seal: time.Hour, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(3) {
			at.Wall, at.Awake, at.Cont = at.Wall+1e9, at.Awake+1e9, at.Cont+1e9
			clock.Set(at)
			v := metric.Column{Bits: []uint64{boot}}
			if boot == 2 && n == 2 {
				v = metric.Column{Bits: []uint64{0}, Miss: []metric.Reason{metric.TimedOut}}
			}
			b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{v}}
			if err := w.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		at.Wall, at.Awake, at.Cont = at.Wall+60e9, 5e9, 5e9
		clock.Set(at)
	}
	r := open(t, dir)
	last := r.Archives()[2]
	var walls []int64
	for run := range r.Select(store.Selection{From: last.To, Prior: true}) {
		walls = append(walls, run.Wall...)
	}
	if len(walls) != 4 || !slices.IsSorted(walls) {
		t.Errorf("the values of three boots and the one in the window come at %v", walls)
	}
	for s, err := range query.Read(r, query.Request{Window: query.Window{From: last.To}, Metrics: []string{"a.state"}, Mode: query.Shown}) {
		if v := s.Value(0).String(); err != nil || v != "2" {
			t.Errorf("while it cannot be read, %q is held, %v", v, err)
		}
	}
}
