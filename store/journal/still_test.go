package journal

import (
	"fmt"
	"testing"

	"tachograph/sample/metric"
)

// TestSleepersHaveNoMotions writes ticks of a thousand processes, of which one works. For
// the others the writer keeps their values and no record of how they change.
func TestSleepersHaveNoMotions(t *testing.T) {
	g := &metric.Group{Name: "g", Indom: "process"}
	b := &metric.Block{Group: g}
	for j := range 60 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprint("m", j), Type: metric.U64, Indom: "process"})
		b.Cols = append(b.Cols, metric.Column{})
	}
	for i := range 1000 {
		b.Rows = append(b.Rows, &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprint(i)})
		for j := range b.Cols {
			b.Cols[j].Bits = append(b.Cols[j].Bits, uint64(i*j%37*1000))
		}
	}
	enc := NewEncoder()
	at := metric.Stamp{Wall: 1.8e18, Awake: 5e12, Cont: 7e12}
	for range 10 {
		at.Wall, at.Awake, at.Cont = at.Wall+1e9, at.Awake+1e9, at.Cont+1e9
		b.At = at
		b.Cols[3].Bits[500] += 12345
		if _, err := enc.Tick(nil, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{b}}); err != nil {
			t.Fatal(err)
		}
	}
	moved := 0
	for _, r := range enc.s.groups[processHalf].of[g].rows {
		if r.moves != nil {
			moved++
		}
	}
	if moved != 1 {
		t.Errorf("%d rows have motions", moved)
	}
}
