package chunk

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// TestCut compares what is cut out of a chunk, or of two consecutive ones, with their ticks:
// with the last values before the cut, and without.
func TestCut(t *testing.T) {
	for seed := range uint64(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := storetest.NewWorld(seed)
			var n numbers
			var texts [2][]string
			var chunks [2]*Chunk
			for i := range chunks {
				b := NewBuilder(w.Class)
				for range 10 + w.R.IntN(60) {
					tick := w.Tick()
					texts[i] = append(texts[i], tickText(tick))
					if err := b.Append(tick); err != nil {
						t.Fatal(err)
					}
				}
				s, err := b.Seal(n.number)
				if err != nil {
					t.Fatal(err)
				}
				chunks[i] = open(t, s)
				if i == 1 && seed%3 == 0 {
					if chunks[i], _, err = b.Present(n.number); err != nil {
						t.Fatal(err)
					}
				}
			}
			first := Stretch{Chunk: chunks[0], From: w.R.IntN(len(texts[0])), Until: len(texts[0]), Stands: seed%2 == 0}
			parts := []Stretch{first, {Chunk: chunks[1], Until: 1 + w.R.IntN(len(texts[1]))}}
			if seed%4 < 2 {
				parts[0].Until = first.From + 1 + w.R.IntN(first.Until-first.From)
				parts = parts[:1]
			}
			var want []string
			for i, p := range parts {
				want = append(want, texts[i][p.From:p.Until]...)
			}
			if first.Stands {
				ticks, err := first.Chunk.Ticks(first.From+1, Makings{Desc: n.desc})
				if err != nil {
					t.Fatal(err)
				}
				stood, err := ticks.Last()
				if err != nil {
					t.Fatal(err)
				}
				want[0] = tickText(stood)
			}
			var moved numbers // the numbers of the metrics in the cut
			s, err := Cut(parts, n.desc, func(d *metric.Desc) uint32 { return moved.number(d) })
			if err != nil {
				t.Fatal(err)
			}
			cut := open(t, s)
			if err := cut.Verify(moved.desc); err != nil {
				t.Fatal(err)
			}
			if got := remade(t, cut, 0, &moved); !slices.Equal(got, want) {
				t.Fatal(differ(got, want))
			}
			words, err := cut.Words()
			if err != nil {
				t.Fatal(err)
			}
			for i, word := range words {
				if !met(t, cut, uint64(i)) {
					t.Errorf("it brought %q, which no cell holds", word)
				}
			}
		})
	}
}

// met reports whether a string cell of c holds word.
func met(t *testing.T, c *Chunk, word uint64) (found bool) {
	t.Helper()
	for _, g := range c.Groups {
		for i := range g.Columns {
			if g.Columns[i].Type != metric.String {
				continue
			}
			err := g.Series(i, nil, func(_ int, s *Series) error {
				found = found || slices.Contains(s.Bits, word)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return found
}
