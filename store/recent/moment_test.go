package recent_test

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/recent"
)

// When a tick was read last is told by the blocks in it, and in the boot that it is of.
func TestLastRead(t *testing.T) {
	a := recent.New(recent.Keep{})
	if m := a.LastOf(metric.Fast); m != (recent.Moment{}) {
		t.Errorf("nothing was read, and that at %v", m)
	}
	stamp := func(cont int64) metric.Stamp { return metric.Stamp{Wall: 5, Awake: cont, Cont: cont} }
	rows, cols := []*metric.Instance{nil}, []metric.Column{{Bits: []uint64{1}}}
	a.Tick(&archive.Info{ID: "1", BootID: "b"}, &metric.Tick{Class: metric.Fast, At: stamp(10), Blocks: []*metric.Block{
		{Group: fixed, At: stamp(13), Rows: rows, Cols: cols}, {Group: fixed, At: stamp(12), Rows: rows, Cols: cols},
	}})
	if m := a.LastOf(metric.Fast); m != (recent.Moment{Boot: "b", Cont: 13}) {
		t.Errorf("it was read at %v", m)
	}
	before := recent.Moment{Boot: "b", Cont: 12}
	if m := a.LastOf(metric.Fast); !before.Before(m) || m.Before(before) || m.Before(m) || (recent.Moment{Boot: "c", Cont: 1}).Before(m) {
		t.Errorf("%v and %v are in another order", before, m)
	}
}
