package chunk

import (
	"bytes"
	"fmt"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// numbers gives metrics their numbers, as a catalogue does.
type numbers struct {
	byDesc map[*metric.Desc]uint32
	descs  []*metric.Desc
}

func (n *numbers) number(d *metric.Desc) uint32 {
	if n.byDesc == nil {
		n.byDesc = make(map[*metric.Desc]uint32)
	}
	i, ok := n.byDesc[d]
	if !ok {
		i = uint32(len(n.descs))
		n.byDesc[d] = i
		n.descs = append(n.descs, d)
	}
	return i
}

func (n *numbers) desc(i uint32) *metric.Desc {
	if int(i) < len(n.descs) {
		return n.descs[i]
	}
	return nil
}

// readAll decodes a chunk into a ledger.
func readAll(t *testing.T, l storetest.Ledger, c *Chunk, n *numbers) {
	t.Helper()
	words, err := c.Words()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.Groups {
		stamps, err := g.Stamps()
		if err != nil {
			t.Fatal(err)
		}
		insts, err := g.Instances()
		if err != nil {
			t.Fatal(err)
		}
		for ci, col := range g.Columns {
			d := n.desc(col.Number)
			err := g.Series(ci, nil, func(i int, s *Series) error {
				var in *metric.Instance
				if g.Indom != "" {
					in = &metric.Instance{Key: insts[i].Key}
				}
				s.Stretches(&insts[i], 0, uint32(g.Blocks-1), func(start, end uint32, bits uint64, why metric.Reason) {
					for ; start < end; start++ {
						v := metric.Value{Type: d.Type, Bits: bits, Miss: why}
						if d.Type == metric.String && why == metric.Present {
							v.Str = words[bits]
						}
						l.Note(d, in, stamps[start], v)
					}
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range insts {
			for _, nm := range insts[i].Names {
				l.Name(g.Indom, insts[i].Key, nm.Name, nm.Labels)
			}
		}
	}
}

func open(t *testing.T, s *Sealed) *Chunk {
	t.Helper()
	c, err := Open(bytes.NewReader(s.Data), int64(len(s.Data)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRandomTicks seals random ticks, in one chunk and in several that are then merged, and
// compares every cell.
func TestRandomTicks(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := storetest.NewWorld(seed)
			var n numbers
			want := make(storetest.Ledger)
			whole, part := NewBuilder(w.Class), NewBuilder(w.Class)
			var parts []*Chunk
			for range 10 + w.R.IntN(60) {
				tick := w.Tick()
				want.Add(tick)
				for _, b := range []*Builder{whole, part} {
					if err := b.Append(tick); err != nil {
						t.Fatal(err)
					}
				}
				if w.R.IntN(20) == 0 {
					s, err := part.Seal(n.number)
					if err != nil {
						t.Fatal(err)
					}
					part.Reset()
					parts = append(parts, open(t, s))
				}
			}
			s, err := whole.Seal(n.number)
			if err != nil {
				t.Fatal(err)
			}
			c := open(t, s)
			if err := c.Verify(n.desc); err != nil {
				t.Fatal(err)
			}
			got := make(storetest.Ledger)
			readAll(t, got, c, &n)
			got.Compare(t, want)

			if part.Ticks() > 0 {
				s, err := part.Seal(n.number)
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, open(t, s))
			}
			got = make(storetest.Ledger)
			for _, c := range parts {
				readAll(t, got, c, &n)
			}
			got.Compare(t, want)

			s, err = Merge(parts, n.desc)
			if err != nil {
				t.Fatal(err)
			}
			c = open(t, s)
			if err := c.Verify(n.desc); err != nil {
				t.Fatal(err)
			}
			got = make(storetest.Ledger)
			readAll(t, got, c, &n)
			got.Compare(t, want)
			in, err := ParseInfo(s.Info.Marshal())
			if err != nil || in != s.Info {
				t.Fatalf("info %+v came back as %+v, %v", s.Info, in, err)
			}
		})
	}
}
