package journal

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/sample/metric"
)

// If a few rows have other places than before, as when the last rows fill the places of
// processes that ended, the tick does not list all rows. If many have, it does.
func TestRowsThatMove(t *testing.T) {
	g := &metric.Group{Name: "g", Indom: "process", Metrics: []*metric.Desc{{Name: "g.m", Type: metric.U64}, {Name: "g.n", Type: metric.U64}}}
	var rows []*metric.Instance
	for i := range 64 {
		rows = append(rows, &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprint(i)})
	}
	enc, dec := NewEncoder(), NewDecoder(false, nil)
	at := metric.Stamp{}
	give := func(rows []*metric.Instance) int {
		t.Helper()
		at.Cont += 1e9
		b := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, 2)}
		for i := range rows {
			b.Cols[0].Bits = append(b.Cols[0].Bits, rows[i].ID*uint64(at.Cont))
			b.Cols[1].Bits = append(b.Cols[1].Bits, rows[i].ID)
		}
		tick := &metric.Tick{At: at, Blocks: []*metric.Block{b}}
		body, err := enc.Tick(nil, tick)
		if err != nil {
			t.Fatal(err)
		}
		var rec Record
		if err := dec.Decode(body, &rec); err != nil {
			t.Fatal(err)
		}
		if err := sameTick(tick, rec.Tick); err != nil {
			t.Fatal(err)
		}
		return enc.s.groupsOf(tick.Class).of[g].how
	}
	give(rows)
	came := &metric.Instance{ID: 99, Key: "99"}
	moved := slices.Concat(rows[:5], rows[6:20], rows[21:], []*metric.Instance{came, rows[20], rows[5]})
	if how := give(moved); how != rowsEdited {
		t.Errorf("two rows that moved: %d", how)
	}
	if how := give(moved[:63]); how != rowsEdited {
		t.Errorf("two rows that left: %d", how)
	}
	slices.Reverse(moved)
	if how := give(moved); how != rowsListed {
		t.Errorf("all rows moved: %d", how)
	}
}
