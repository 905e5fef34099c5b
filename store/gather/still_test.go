package gather

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/journal"
)

// bytesOf is a journal in memory.
type bytesOf struct{ b []byte }

func (m *bytesOf) WriteAt(p []byte, off int64) (int, error) {
	m.b = append(m.b[:off], p...)
	return len(p), nil
}

// A journal that is given the rows that stay the same writes the same bytes as one that
// compares them itself. This holds whatever comes and goes, in whichever class, also if
// batches and generations begin at different times or one of the two refuses a tick.
func TestStill(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	g := &metric.Group{Name: "g", Indom: "in", Metrics: []*metric.Desc{
		{Name: "a", Type: metric.U64}, {Name: "b", Type: metric.U64}, {Name: "c", Type: metric.String}, {Name: "d", Type: metric.F64},
	}}
	var all []*metric.Instance
	for i := range uint64(40) {
		all = append(all, &metric.Instance{ID: i + 1, Key: string(rune('A' + i))})
	}
	cells := make(map[*metric.Instance]*[4]uint64)
	words := []string{"", "one", "two"}
	tick := func(n int) *metric.Tick {
		at := metric.Stamp{Wall: int64(n) * 1e9, Cont: int64(n) * 1e9, Awake: int64(n) * 1e9}
		class := metric.Process
		if rnd.IntN(8) == 0 {
			class = metric.Costly // the same group in another class
		}
		blk := &metric.Block{Group: g, At: at, Cols: make([]metric.Column, 4)}
		blk.Cols[2].Words = words
		for _, in := range all {
			if rnd.IntN(10) == 0 {
				continue
			}
			if cells[in] == nil {
				cells[in] = new([4]uint64)
			}
			if rnd.IntN(5) == 0 {
				cells[in][rnd.IntN(4)] = rnd.Uint64N(3)
			}
			blk.Rows = append(blk.Rows, in)
			for j, v := range cells[in] {
				blk.Cols[j].Bits = append(blk.Cols[j].Bits, v)
			}
		}
		if rnd.IntN(3) == 0 {
			blk.Cols[1].Miss = make([]metric.Reason, len(blk.Rows))
			for i := range blk.Rows {
				blk.Cols[1].Miss[i] = metric.Reason(rnd.IntN(2))
			}
		}
		return &metric.Tick{Class: class, At: at, Blocks: []*metric.Block{blk}}
	}
	var batch Batch
	var plain, told *journal.Writer
	var looked, known bytesOf
	var room journal.Still
	stood := 0
	for n := range 2000 {
		if n%170 == 0 {
			looked, known = bytesOf{}, bytesOf{}
			head := journal.Header{Archive: "a", Generation: uint64(n + 1)}
			plain, told = journal.NewWriter(&looked, head, nil), journal.NewWriter(&known, head, nil)
		}
		if n%230 == 0 {
			batch = Batch{}
		}
		tk := tick(n)
		if rnd.IntN(30) == 0 { // only the journal takes it
			if plain.Tick(tk) != nil || told.Tick(tk) != nil {
				t.Fatal("refused")
			}
			continue
		}
		if err := batch.Tick(tk); err != nil {
			t.Fatal(err)
		}
		still := batch.Still(tk, &room)
		for _, s := range still.Rows[0] {
			if s {
				stood++
			}
		}
		if rnd.IntN(30) == 0 { // only the batch takes it
			continue
		}
		if plain.Tick(tk) != nil || told.TickStill(tk, still) != nil {
			t.Fatal("refused")
		}
		if !bytes.Equal(looked.b, known.b) {
			t.Fatalf("tick %d is written otherwise by who knows what stands still", n)
		}
	}
	if stood < 1000 {
		t.Errorf("%d rows stood still", stood)
	}
}
