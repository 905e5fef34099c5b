package samples

import (
	"testing"

	"tachograph/sample/metric"
)

// kept are the samples of a tick, by metric.
type kept map[string]struct {
	at    int64
	value Value
}

func (k kept) Sample(s *Series, at int64, value Value) {
	k[s.Family.Sources[0].Metric] = struct {
		at    int64
		value Value
	}{at, value}
}

// Whole numbers keep all their digits, in base units too, and times theirs as far as the
// scheme has them.
func TestDigits(t *testing.T) {
	const odd = 1<<53 + 1
	minus := int64(-7)
	kbyte := metric.Units{Space: 1, SpaceScale: 1}
	millisec := metric.Units{Time: 1, TimeScale: metric.Milliseconds.TimeScale}
	g := &metric.Group{Name: "g"}
	b := &metric.Block{Group: g, At: metric.Stamp{Wall: 1_800_000_000_123_456_789, Cont: 1}, Rows: []*metric.Instance{nil}}
	for _, m := range []struct {
		name  string
		typ   metric.Type
		units metric.Units
		bits  uint64
	}{{"test.plain", metric.U64, metric.Units{}, odd}, {"test.memory", metric.U64, kbyte, 3}, {"test.below", metric.I32, metric.Units{}, uint64(minus)},
		{"test.took", metric.U64, millisec, 1500}, {"test.huge", metric.U64, metric.Units{}, 1<<64 - 1}, {"test.part", metric.F64, metric.Units{}, 0}} {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: m.name, Type: m.typ, Units: m.units})
		b.Cols = append(b.Cols, metric.Column{Bits: []uint64{m.bits}})
	}
	tick := &metric.Tick{Class: metric.Fast, At: b.At, Blocks: []*metric.Block{b}}
	for step, at := range map[int64]int64{0: 1_800_000_000_123_456_789, 1e6: 1_800_000_000_123_000_000} {
		got := kept{}
		New(Scheme{Own: OwnNames, Step: step}).Tick(info, tick, got)
		for name, want := range map[string]Value{"test.plain": {odd - 1, odd, true}, "test.memory": {3072, 3072, true}, "test.below": {-7, -7, true},
			"test.took": {1.5, 0, false}, "test.huge": {1 << 64, 0, false}, "test.part": {0, 0, false}} {
			if got[name].value != want || got[name].at != at {
				t.Errorf("step %d: %s is %+v, want %+v", step, name, got[name], want)
			}
		}
	}
}
