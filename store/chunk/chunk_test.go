package chunk

import (
	"bytes"
	"fmt"
	"testing"

	"tachograph/sample/metric"
)

// numbers is a catalogue for tests.
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

// A ledger is what went in, cell by cell, in the plainest form.
type ledger map[string][]string

func (l ledger) add(t *metric.Tick) {
	for _, b := range t.Blocks {
		for i, in := range b.Rows {
			for c, d := range b.Group.Metrics {
				l.note(d, in, b.At, b.Cols[c].At(d.Type, i))
			}
			if in != nil {
				k := b.Group.Name + "/" + in.Key + "/name"
				v := fmt.Sprint(in.Name, in.Labels)
				if n := len(l[k]); n == 0 || l[k][n-1] != v {
					l[k] = append(l[k], v)
				}
			}
		}
	}
}

func (l ledger) note(d *metric.Desc, in *metric.Instance, at metric.Stamp, v metric.Value) {
	k := d.Name
	if in != nil {
		k += "/" + in.Key
	}
	bits := v.Bits
	if v.Miss != metric.Present || d.Type == metric.String {
		bits = 0
	}
	l[k] = append(l[k], fmt.Sprint(at, " ", bits, " ", v.Str, " ", v.Miss))
}

// read decodes chunks into a ledger.
func (l ledger) read(t *testing.T, c *Chunk, n *numbers) {
	t.Helper()
	words, err := c.Words()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.Groups {
		if _, _, err := g.Times(); err != nil {
			t.Fatal(err)
		}
		insts, err := g.Instances()
		if err != nil {
			t.Fatal(err)
		}
		for ci, col := range g.Columns {
			d := n.desc(col.Number)
			err := g.Series(ci, func(int) bool { return true }, func(i int, s *Series) error {
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
						l.note(d, in, g.Stamp(int(start)), v)
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
				k := g.Name + "/" + insts[i].Key + "/name"
				v := fmt.Sprint(nm.Name, nm.Labels)
				if n := len(l[k]); n == 0 || l[k][n-1] != v {
					l[k] = append(l[k], v)
				}
			}
		}
	}
}

func (l ledger) compare(t *testing.T, want ledger) {
	t.Helper()
	for k, w := range want {
		g := l[k]
		for i := range w {
			if i >= len(g) || g[i] != w[i] {
				t.Fatalf("%s: %d of %d cells, number %d is %q, want %q", k, len(g), len(w), i, append(g, make([]string, i+1)...)[i], w[i])
			}
		}
		if len(g) != len(w) {
			t.Fatalf("%s: %d cells, want %d", k, len(g), len(w))
		}
	}
	if len(l) != len(want) {
		t.Fatalf("%d series, want %d", len(l), len(want))
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

// TestRandomTicks seals random ticks, in one chunk and in several that are
// then merged, and compares every cell.
func TestRandomTicks(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(seed)
			var n numbers
			want := make(ledger)
			whole, part := NewBuilder(w.class), NewBuilder(w.class)
			var parts []*Chunk
			for range 10 + w.r.IntN(60) {
				tick := w.tick()
				want.add(tick)
				for _, b := range []*Builder{whole, part} {
					if err := b.Append(tick); err != nil {
						t.Fatal(err)
					}
				}
				if w.r.IntN(20) == 0 {
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
			got := make(ledger)
			got.read(t, c, &n)
			got.compare(t, want)

			if part.Ticks() > 0 {
				s, err := part.Seal(n.number)
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, open(t, s))
			}
			got = make(ledger)
			for _, c := range parts {
				got.read(t, c, &n)
			}
			got.compare(t, want)

			s, err = Merge(parts, n.desc)
			if err != nil {
				t.Fatal(err)
			}
			c = open(t, s)
			if err := c.Verify(n.desc); err != nil {
				t.Fatal(err)
			}
			got = make(ledger)
			got.read(t, c, &n)
			got.compare(t, want)
			in, err := ParseInfo(s.Info.Marshal())
			if err != nil || in != s.Info {
				t.Fatalf("info %+v came back as %+v, %v", s.Info, in, err)
			}
		})
	}
}
