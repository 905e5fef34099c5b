package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// What an instance was called is told once and in the order of time, although
// each group that has it tells it.
func TestNamesOfLives(t *testing.T) {
	dir := t.TempDir()
	b := proof.NewBuilder(t, filepath.Join(dir, "a"))
	var groups []*metric.Group
	for i := range 3 {
		groups = append(groups, &metric.Group{Name: fmt.Sprint("g", i), Indom: "process", Metrics: []*metric.Desc{
			{Name: fmt.Sprint("m", i), Type: metric.U64, Sem: metric.Instant, Indom: "process", Class: metric.Process}}})
	}
	const second = int64(1e9)
	for n := range int64(12) {
		at := metric.Stamp{Wall: 1_790_000_000*second + n*5*second, Cont: n*5*second + 1, Awake: n*5*second + 1}
		in := &metric.Instance{ID: 1, Key: "7", Name: []string{"7 sh", "7 make", "7 cc"}[n/4], Rev: uint32(n / 4)}
		tick := &metric.Tick{Class: metric.Process, At: at}
		for _, g := range groups {
			tick.Blocks = append(tick.Blocks, &metric.Block{Group: g, At: at, Rows: []*metric.Instance{in}, Cols: []metric.Column{{Bits: []uint64{uint64(n)}}}})
		}
		b.Append(tick)
		if n == 5 {
			b.Seal(nil)
		}
	}
	b.Seal(nil)
	path := filepath.Join(dir, "x"+layout.FinishedSuffix)
	b.Finish(path)
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for l := range r.Lives("process", 0, 0) {
		var got []string
		for _, n := range l.Names {
			got = append(got, fmt.Sprint((n.From-l.From)/second, " ", n.Name))
		}
		if s := strings.Join(got, ", "); s != "0 7 sh, 20 7 make, 40 7 cc" {
			t.Errorf("it was called %s", s)
		}
	}
}
