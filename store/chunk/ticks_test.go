package chunk

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// tickText prints a tick in the plainest form, with its rows in the order of their keys.
func tickText(t *metric.Tick) string {
	var out []string
	for _, b := range t.Blocks {
		var rows []string
		for i, in := range b.Rows {
			var s strings.Builder
			if in != nil {
				fmt.Fprintf(&s, "%q %q %q", in.Key, in.Name, in.Labels)
			}
			for c, d := range b.Group.Metrics {
				v := b.Cols[c].At(d.Type, i)
				if v.Miss == metric.Present && d.Type == metric.String {
					fmt.Fprintf(&s, " %s=%q", d.Name, v.Str)
				} else {
					fmt.Fprintf(&s, " %s=%x/%v", d.Name, v.Bits, v.Miss)
				}
			}
			rows = append(rows, s.String())
		}
		slices.Sort(rows)
		out = append(out, fmt.Sprint(b.Group.Name, b.Group.Indom, b.At, rows))
	}
	slices.Sort(out)
	return fmt.Sprint(t.Class, t.At, out)
}

// remade returns the ticks of c from first on.
func remade(t *testing.T, c *Chunk, first int, n *numbers) (got []string) {
	t.Helper()
	ticks, err := c.Ticks(first, Makings{Desc: n.desc})
	if err != nil {
		t.Fatal(err)
	}
	for {
		tick, err := ticks.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tickText(tick))
		for _, b := range tick.Blocks {
			for _, col := range b.Cols {
				for i := range col.Miss {
					if col.Miss[i] != metric.Present && col.Bits[i] != 0 {
						t.Fatal("an absent cell has bits")
					}
				}
			}
		}
	}
}

// TestTicks compares ticks made from chunks with the ticks that went in.
func TestTicks(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := storetest.NewWorld(seed)
			var n numbers
			b := NewBuilder(w.Class)
			var want []string
			for range 10 + w.R.IntN(60) {
				tick := w.Tick()
				want = append(want, tickText(tick))
				if err := b.Append(tick); err != nil {
					t.Fatal(err)
				}
			}
			present, _, err := b.Present(n.number)
			if err != nil {
				t.Fatal(err)
			}
			s, err := b.Seal(n.number)
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]*Chunk{"sealed": open(t, s), "present": present} {
				first := w.R.IntN(len(want) + 1)
				if got := remade(t, c, 0, &n); !slices.Equal(got, want) {
					t.Fatalf("%s: %s", name, differ(got, want))
				}
				if got := remade(t, c, first, &n); !slices.Equal(got, want[first:]) {
					t.Fatalf("%s from %d: %s", name, first, differ(got, want[first:]))
				}
			}
		})
	}
}

func differ(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Sprintf("tick %d of %d is\n%s\nwant\n%s", i, len(got), append(got, "", "")[min(i, len(got))], want[i])
		}
	}
	return fmt.Sprintf("%d ticks, want %d", len(got), len(want))
}

// TestTicksInParts makes ticks of a chunk of which only parts may be in memory.
func TestTicksInParts(t *testing.T) {
	c := storetest.NewCrowd(3, true, true)
	b := NewBuilder(metric.Process)
	var n numbers
	var want []string
	for range 80 {
		tick := c.Tick()
		want = append(want, tickText(tick))
		if err := b.Append(tick); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Seal(n.number)
	if err != nil {
		t.Fatal(err)
	}
	ticks, err := open(t, s).Ticks(0, Makings{Desc: n.desc})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, g := range ticks.groups {
		g.cells, g.changes = 1<<10, 1<<(6+i%3)
	}
	for range want {
		tick, err := ticks.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tickText(tick))
	}
	if !slices.Equal(got, want) {
		t.Fatal(differ(got, want))
	}
	for _, g := range ticks.groups {
		if g.windows < 2 {
			t.Errorf("group %s was decoded in one piece", g.g.Name)
		}
	}
}

// TestTicksLast compares the last values before a tick with the last block of each group.
func TestTicksLast(t *testing.T) {
	for seed := range uint64(40) {
		w := storetest.NewWorld(seed)
		var n numbers
		b := NewBuilder(w.Class)
		var want []string
		last := make(map[string]*metric.Block)
		for range 30 {
			tick := w.Tick()
			if err := b.Append(tick); err != nil {
				t.Fatal(err)
			}
			for _, blk := range tick.Blocks {
				// An instance has the name that it had when it was there last.
				kept := blk.Clone()
				for i, in := range kept.Rows {
					if in != nil {
						copied := *in
						kept.Rows[i] = &copied
					}
				}
				last[blk.Group.Name] = kept
			}
			all := &metric.Tick{Class: tick.Class, At: tick.At}
			for _, blk := range last {
				all.Blocks = append(all.Blocks, blk)
			}
			want = append(want, tickText(all))
		}
		s, err := b.Seal(n.number)
		if err != nil {
			t.Fatal(err)
		}
		for at := range want {
			ticks, err := open(t, s).Ticks(at+1, Makings{Desc: n.desc})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ticks.Last()
			if err != nil || tickText(got) != want[at] {
				t.Fatalf("world %d, tick %d: %v\n%s\nwant\n%s", seed, at, err, tickText(got), want[at])
			}
		}
	}
}

// FuzzTicks makes ticks from hostile chunks with right checksums.
func FuzzTicks(f *testing.F) {
	sealed, n := seeds(f)
	for _, s := range sealed {
		f.Add(s.Data, 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, first int) {
		if len(data) > 1<<16 {
			return
		}
		c := unchecked(data)
		if c == nil {
			return
		}
		made := Makings{Desc: func(i uint32) *metric.Desc { return n.desc(i % uint32(len(n.descs))) }}
		ticks, err := c.Ticks(first, made)
		if err != nil {
			return
		}
		for k := 0; k < 100 && err == nil; k++ {
			_, err = ticks.Next()
		}
		if ticks, err = c.Ticks(len(ticks.stamps), made); err == nil {
			_, _ = ticks.Last()
		}
	})
}
