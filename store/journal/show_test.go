package journal

import (
	"testing"

	"tachograph/sample/metric"
)

// TestShowChanges decodes ticks with the same rows, of which only the changes are shown
// again: values that go missing and come back, words, and new rows.
func TestShowChanges(t *testing.T) {
	g := &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "disk.read", Type: metric.U64, Indom: "disk"},
		{Name: "disk.state", Type: metric.String, Indom: "disk"},
	}}
	a, b, c := &metric.Instance{ID: 1, Key: "a"}, &metric.Instance{ID: 2, Key: "b"}, &metric.Instance{ID: 3, Key: "c"}
	two, three := []*metric.Instance{a, b}, []*metric.Instance{a, c, b}
	words := []string{"", "idle", "busy"}
	const gone = metric.NotRead
	ticks := []metric.Block{
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{1, 2}}, {Bits: []uint64{1, 1}, Words: words}}},
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{1, 2}}, {Bits: []uint64{1, 1}, Words: words}}},
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{0, 3}, Miss: []metric.Reason{gone, 0}}, {Bits: []uint64{1, 2}, Words: words}}},
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{0, 0}, Miss: []metric.Reason{gone, gone}}, {Bits: []uint64{2, 2}, Words: words}}},
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{5, 0}, Miss: []metric.Reason{0, gone}}, {Bits: []uint64{2, 2}, Words: words}}},
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{5, 6}}, {Bits: []uint64{2, 0}, Words: words, Miss: []metric.Reason{0, gone}}}},
		{Rows: three, Cols: []metric.Column{{Bits: []uint64{5, 9, 6}}, {Bits: []uint64{2, 1, 0}, Words: words, Miss: []metric.Reason{0, 0, gone}}}},
		{Rows: three, Cols: []metric.Column{{Bits: []uint64{5, 9, 7}}, {Bits: []uint64{2, 1, 1}, Words: words}}},
		{Rows: two, Cols: []metric.Column{{Bits: []uint64{5, 7}}, {Bits: []uint64{2, 1}, Words: words}}},
	}
	enc, dec := NewEncoder(), NewDecoder(false, nil)
	var rec Record
	for i := range ticks {
		at := metric.Stamp{Wall: int64(i) * 1e9, Awake: int64(i) * 1e9, Cont: int64(i) * 1e9}
		ticks[i].Group, ticks[i].At = g, at
		tick := &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{&ticks[i]}}
		body, err := enc.Tick(nil, tick)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(body, &rec); err != nil {
			t.Fatal(err)
		}
		if err := sameTick(tick, rec.Tick); err != nil {
			t.Fatalf("tick %d: %v", i, err)
		}
		for k, col := range rec.Tick.Blocks[0].Cols {
			if (col.Miss == nil) != (ticks[i].Cols[k].Miss == nil) || len(col.Bits) != len(ticks[i].Rows) {
				t.Errorf("tick %d, column %d: %+v", i, k, col)
			}
		}
	}
}
