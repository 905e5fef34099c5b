package gather

import (
	"errors"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/journal"
)

// at returns a tick whose value is its clock. It has one process, whose name says when it
// was seen.
func at(g *metric.Group, cont int64) *metric.Tick {
	when := metric.Stamp{Wall: 1e18 + cont, Cont: cont, Awake: cont}
	in := &metric.Instance{ID: 7, Key: "7", Name: string(rune('a' + cont/10))}
	return &metric.Tick{Class: metric.Process, At: when, Blocks: []*metric.Block{{
		Group: g, At: when, Rows: []*metric.Instance{in},
		Cols: []metric.Column{{Bits: []uint64{uint64(cont)}}, {Bits: []uint64{1}, Words: []string{"", string(rune('A' + cont%10))}}},
	}}}
}

func lateGroup() *metric.Group {
	return &metric.Group{Name: "g", Indom: "process", Metrics: []*metric.Desc{
		{Name: "a", Type: metric.U64, Indom: "process", Class: metric.Process}, {Name: "b", Type: metric.String, Indom: "process", Class: metric.Process},
	}}
}

// clocks returns the clocks of the ticks of b, and checks that each tick is as it was
// appended.
func clocks(t *testing.T, b *chunk.Builder) (list []int64) {
	t.Helper()
	var n numbering
	ticks, err := n.ticks(b)
	if err != nil {
		t.Fatal(err)
	}
	for {
		tick, err := ticks.Next()
		if err != nil {
			return list
		}
		cont := tick.At.Cont
		blk := tick.Blocks[0]
		if len(tick.Blocks) != 1 || blk.Cols[0].Bits[0] != uint64(cont) || blk.Cols[1].Word(0) != string(rune('A'+cont%10)) || blk.Rows[0].Name != string(rune('a'+cont/10)) {
			t.Errorf("tick %d holds %d, %q of %q", cont, blk.Cols[0].Bits[0], blk.Cols[1].Word(0), blk.Rows[0].Name)
		}
		list = append(list, cont)
	}
}

// Late ticks get their place by their clock, and each appears once.
func TestLateTicksAreSorted(t *testing.T) {
	for _, c := range []struct {
		name                string
		ticks, late, settle []int64
		refused             []int64
		want                []int64
	}{
		{name: "between", ticks: []int64{10, 20, 30}, late: []int64{11, 12, 25}, want: []int64{10, 11, 12, 20, 25, 30}},
		{name: "before all", ticks: []int64{10, 20}, late: []int64{5, 6}, want: []int64{5, 6, 10, 20}},
		{name: "twice", ticks: []int64{10, 20, 30}, late: []int64{10, 15, 20, 30}, want: []int64{10, 15, 20, 30}},
		{name: "not in their order", ticks: []int64{10, 20}, late: []int64{12}, refused: []int64{12, 11}, want: []int64{10, 12, 20}},
		{name: "older than what is sealed", ticks: []int64{10, 20}, refused: []int64{2, 4}, late: []int64{5}, want: []int64{5, 10, 20}},
		{name: "of a class without others", late: []int64{11, 12}, want: []int64{11, 12}},
		{name: "again after they were settled", ticks: []int64{10, 20}, late: []int64{12}, settle: []int64{11, 12, 14, 30}, want: []int64{10, 11, 12, 14, 20, 30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, other := lateGroup(), lateGroup() // two, because journals may define a group twice
			var before Batch
			if err := before.Tick(at(g, 4)); err != nil {
				t.Fatal(err)
			}
			b := before.Next()
			for _, cont := range c.ticks {
				if err := b.Tick(at(g, cont)); err != nil {
					t.Fatal(err)
				}
			}
			for _, cont := range c.late {
				if err := b.Late(at(other, cont)); err != nil {
					t.Fatal(err)
				}
			}
			for _, cont := range c.refused {
				if err := b.Late(at(other, cont)); !errors.Is(err, ErrTooLate) {
					t.Errorf("late tick %d: %v", cont, err)
				}
			}
			first, ok := b.First()
			if !ok || first.Cont != c.want[0] || b.Empty() || b.Values() != 2*int64(len(c.ticks)+len(c.late)) || b.Memory() == 0 {
				t.Errorf("first %v, empty %v, %d values, %d bytes", first, b.Empty(), b.Values(), b.Memory())
			}
			if next := b.Next(); next.Late(at(g, c.want[len(c.want)-1])) == nil && c.settle == nil {
				t.Error("the batch after it takes what is older")
			}
			if err := b.Settle(); err != nil {
				t.Fatal(err)
			}
			for _, cont := range c.settle {
				if err := b.Late(at(other, cont)); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Settle(); err != nil {
				t.Fatal(err)
			}
			if got := clocks(t, b.Builders[metric.Process]); !slices.Equal(got, c.want) {
				t.Errorf("ticks %v, want %v", got, c.want)
			}
			number := numbering{}
			if s, err := b.Builders[metric.Process].Seal(number.number); err != nil || s.Info.Ticks != uint64(len(c.want)) || len(number.descs) != 2 {
				t.Errorf("sealed: %v", err)
			}
		})
	}
}

// A late tick that contradicts itself changes nothing.
func TestLateRefused(t *testing.T) {
	var b Batch
	bad := at(lateGroup(), 10)
	bad.Blocks[0].Cols = bad.Blocks[0].Cols[:1]
	if err := b.Late(bad); err == nil || !b.Empty() {
		t.Errorf("%v, empty: %t", err, b.Empty())
	}
	if err := b.Late(&metric.Tick{Class: metric.NumClasses}); err == nil || !b.Empty() {
		t.Errorf("%v, empty: %t", err, b.Empty())
	}
}

// An Intake takes the late ticks of a journal as late.
func TestIntakeOfLateTicks(t *testing.T) {
	full := &metric.Desc{Name: "a", Type: metric.U64, Indom: "process", Class: metric.Process, Help: "stored"}
	in := NewIntake([]*metric.Desc{full})
	g := lateGroup()
	for _, rec := range []journal.Record{
		{Kind: journal.KindTick, Tick: at(g, 10)}, {Kind: journal.KindTick, Tick: at(g, 20)}, {Kind: journal.KindLate, Tick: at(lateGroup(), 15)},
	} {
		if err := in.Take(&rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Settle(); err != nil {
		t.Fatal(err)
	}
	if got := clocks(t, in.Builders[metric.Process]); !slices.Equal(got, []int64{10, 15, 20}) {
		t.Errorf("ticks %v", got)
	}
	var n numbering
	if _, _, err := in.Builders[metric.Process].Present(n.number); err != nil || n.descs[0].Help != "stored" {
		t.Errorf("%v, described as %v", err, n.descs)
	}
}
