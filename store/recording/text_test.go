package recording

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/storetest/proof"
)

// alike is the beginning of all arguments in a test, so that much text makes small chunks.
var alike = strings.Repeat("a", 2991)

// argsTick returns a tick of processes that are all new and have long arguments.
func argsTick(at metric.Stamp, g *metric.Group, n, rows int) *metric.Tick {
	b := &metric.Block{Group: g, At: at, Cols: []metric.Column{{Bits: make([]uint64, rows), Words: make([]string, rows)}}}
	for i := range rows {
		key := n*rows + i
		b.Rows = append(b.Rows, &metric.Instance{ID: uint64(key), Key: fmt.Sprint(key), Name: fmt.Sprint("p", key)})
		b.Cols[0].Bits[i] = uint64(i)
		b.Cols[0].Words[i] = alike + fmt.Sprintf("%09d", key)
	}
	return &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{b}}
}

// TestMuchText records more text at once than a chunk may have, in ticks whose text nearly
// fills a record of the journal, and finishes the archive.
func TestMuchText(t *testing.T) {
	if !proof.Long() {
		t.Skip("encodes a hundred megabytes, with TACHO_LONG")
	}
	const ticks, rows = 4, 8000
	g := &metric.Group{Name: "args", Indom: "process", Metrics: []*metric.Desc{
		{Name: "p.args", Type: metric.String, Sem: metric.Discrete, Indom: "process", Class: metric.Process, Help: "arguments"},
	}}
	dir, said := t.TempDir(), &proof.Log{}
	synctest.Test(t, func(t *testing.T) {
		opt := testOptions(dir)
		opt.Catalog, opt.Log = g.Metrics, slog.New(said)
		w := create(t, opt)
		for n := range ticks {
			if err := w.Append(argsTick(step(time.Second), g, n, rows)); err != nil {
				t.Fatal(err)
			}
		}
		if finished, err := w.Rotate("test"); err != nil || finished == "" {
			t.Fatalf("finished as %q: %v", finished, err)
		}
	})
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	values := 0
	for run := range r.Select(store.Selection{}) {
		for i := range run.Wall {
			if v := run.At(i); strings.HasPrefix(v.Str, alike) {
				values++
			}
		}
	}
	if lines := said.All(); len(lines) > 0 {
		t.Errorf("the log says %q", lines)
	}
	if hurt := proof.DamageOf(r); values != ticks*rows || len(hurt) > 0 {
		t.Errorf("%d values of %d; damage: %v", values, ticks*rows, hurt)
	}
}
