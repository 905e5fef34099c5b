package gather

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/journal"
)

func tickOf(g *metric.Group, cells int) *metric.Tick {
	return &metric.Tick{Class: metric.Fast, Blocks: []*metric.Block{{Group: g, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: make([]uint64, cells)}}}}}
}

// A tick that contradicts itself leaves nothing behind, and the next one is accepted.
func TestRefusedTicks(t *testing.T) {
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{{Name: "a", Type: metric.U64, Class: metric.Fast}}}
	var b Batch
	for _, bad := range []*metric.Tick{tickOf(g, 2), {Class: metric.NumClasses}} {
		if err := b.Tick(bad); err == nil || !b.Empty() {
			t.Errorf("a tick that contradicts itself: %v, empty %v", err, b.Empty())
		}
	}
	if err := b.Tick(tickOf(g, 1)); err != nil || b.Empty() || b.Builders[metric.Fast].Ticks() != 1 {
		t.Errorf("the tick after it: %v", err)
	}
}

// Metrics of a journal get the latest description with their name, if both agree on
// everything that values depend on.
func TestDescriptionsAreCompleted(t *testing.T) {
	desc := func(help string, s metric.Semantics, clamped bool) *metric.Desc {
		return &metric.Desc{Name: "a", Type: metric.U64, Sem: s, Class: metric.Fast, Clamped: clamped, Help: help}
	}
	for _, c := range []struct {
		name   string
		brief  *metric.Desc
		stored []*metric.Desc
		added  *metric.Desc
		help   string
	}{
		{"stored", desc("", metric.Counter, false), []*metric.Desc{nil, desc("stored", metric.Counter, false)}, nil, "stored"},
		{"added since", desc("", metric.Counter, false), []*metric.Desc{desc("stored", metric.Counter, false)}, desc("added", metric.Counter, false), "added"},
		{"another meaning", desc("", metric.Counter, false), []*metric.Desc{desc("stored", metric.Instant, false)}, nil, ""},
		{"clamped since", desc("", metric.Counter, true), []*metric.Desc{desc("stored", metric.Counter, false)}, nil, ""},
		{"unknown", desc("", metric.Counter, false), nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := NewIntake(c.stored)
			if c.added != nil {
				_ = in.Take(&journal.Record{Kind: journal.KindDescribe, Descs: []*metric.Desc{c.added}})
			}
			g := &metric.Group{Name: "g", Metrics: []*metric.Desc{c.brief}}
			if err := in.Take(&journal.Record{Kind: journal.KindTick, Tick: tickOf(g, 1)}); err != nil {
				t.Fatal(err)
			}
			if got := g.Metrics[0].Help; got != c.help {
				t.Errorf("help %q, want %q", got, c.help)
			}
		})
	}
}
