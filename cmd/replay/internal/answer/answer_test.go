package answer

import (
	"math"
	"testing"

	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// TestFieldsAreDistinct wants each name and each key once, and each key that a table lists to be
// that of a field.
func TestFieldsAreDistinct(t *testing.T) {
	distinct(t, Processes, InTable, OnScreen, InLife)
	distinct(t, Threads, OfThread)
	distinct(t, Places, InRanking, InSummary)
	distinct(t, Lives)
	distinct(t, Ledger, InLedger)
	distinct(t, Net, InNet, InNetAt)
	distinct(t, Connections, InConnections, InConnectionsAt)
	distinct(t, Peers, InPeers, InPeersAt)
	distinct(t, Listeners, InListeners)
}

func distinct[T any](t *testing.T, fields []Field[T], tables ...[]string) {
	t.Helper()
	names, keys := make(map[string]bool), make(map[string]bool)
	for _, f := range fields {
		if f.Name == "" && f.Key == "" {
			t.Error("a field has neither a name nor a key")
		}
		if f.Name != "" && names[f.Name] || f.Key != "" && keys[f.Key] {
			t.Errorf("two fields are called %q, %q", f.Name, f.Key)
		}
		names[f.Name], keys[f.Key] = true, true
		ways := 0
		for _, has := range []bool{f.Word != nil, f.Time != nil, f.Of != nil} {
			if has {
				ways++
			}
		}
		if ways != 1 || f.Of != nil && f.Unit.text == nil {
			t.Errorf("field %q, %q is not exactly one of a word, a time and a number with a unit", f.Name, f.Key)
		}
	}
	for _, table := range tables {
		for _, key := range table {
			if ByKey(fields, key) == nil {
				t.Errorf("a table shows %q, which is the key of no field", key)
			}
		}
	}
}

// TestNumbersOfStrangers has numbers that an archive of unknown origin may hold.
func TestNumbersOfStrangers(t *testing.T) {
	for _, c := range []struct {
		x    float64
		cell out.Cell
		text string
	}{
		{math.NaN(), out.Cell{}, "-"},
		{12.4, out.Whole(12), "12.4 B"},
		{-1, out.Whole(-1), "-1 B"},
		{1 << 62, out.Whole(1 << 62), "4 EB"},
		{1 << 63, out.Number(1 << 63), "8 EB"},
		{math.Inf(1), out.Number(math.Inf(1)), "+Inf EB"},
	} {
		f := Field[float64]{Of: func(x float64) float64 { return x }, Unit: Bytes}
		if got := f.Cell(c.x); got.Kind != c.cell.Kind || got.I != c.cell.I || got.F != c.cell.F {
			t.Errorf("%v for programs: %+v, want %+v", c.x, got, c.cell)
		}
		if got := f.Text(c.x); got != c.text {
			t.Errorf("%v for people: %q, want %q", c.x, got, c.text)
		}
	}
}

// TestUnknownIsLast sorts by a field that some processes lack.
func TestUnknownIsLast(t *testing.T) {
	process := func(pid int, memory float64) *query.Process {
		p := &query.Process{PID: pid, Archive: &store.ArchiveInfo{}, Instance: &metric.Instance{}}
		p.Levels[query.Footprint], p.Levels[query.Resident] = math.NaN(), memory
		return p
	}
	f := ByKey(Processes, "memory")
	small, large, unknown := process(1, 10), process(2, 20), process(3, math.NaN())
	for _, c := range []struct {
		x, y    *query.Process
		reverse bool
		want    int
	}{
		{large, small, false, -1}, {large, small, true, 1}, {small, small, false, 0},
		{unknown, small, false, 1}, {unknown, small, true, 1}, {small, unknown, true, -1}, {unknown, unknown, false, 0},
	} {
		if got := f.Compare(c.x, c.y, c.reverse); got != c.want {
			t.Errorf("Compare of pids %d and %d, reverse %v: %d, want %d", c.x.PID, c.y.PID, c.reverse, got, c.want)
		}
	}
}
