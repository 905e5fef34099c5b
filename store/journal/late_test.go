package journal

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"tachograph/sample/metric"
)

// Late ticks come back as they were, the records around them are written as if there were no
// late ticks, and a reader that does not know late ticks takes them for copies, which it
// does not use.
func TestLate(t *testing.T) {
	plain, mixed := NewEncoder(), &memory{}
	w := NewWriter(mixed, head, nil)
	present, past := newMachine(1), newMachine(2)
	past.at.Cont -= 100e9
	type given struct {
		late bool
		tick *metric.Tick
	}
	var all []given
	for i := range 60 {
		tick := present.tick(metric.Class(i % 2))
		all = append(all, given{false, clone(tick)})
		alone, err := plain.Tick(nil, tick)
		if err != nil || w.Tick(tick) != nil {
			t.Fatal("refused")
		}
		if !bytes.Equal(alone, w.body) {
			t.Fatalf("tick %d is written otherwise behind late ones", i)
		}
		for range i % 3 {
			late := past.tick(metric.Class(i % 2))
			all = append(all, given{true, clone(late)})
			if err := w.Late(late); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := NewReader(mixed, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range all {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(i, err)
		}
		if (rec.Kind == KindLate) != g.late || rec.Seq != head.Base+uint64(i)+1 {
			t.Fatalf("record %d is of kind %d and has number %d", i, rec.Kind, rec.Seq)
		}
		if err := sameTick(g.tick, rec.Tick); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if again, _ := NewReader(mixed, nil, nil); again != nil {
		if _, sound := again.copies(func(*Copy) { t.Error("a late tick is taken for a copy") }); !sound {
			t.Error("not sound")
		}
	}
	body, err := w.enc.Late(nil, past.tick(metric.Fast))
	if err != nil {
		t.Fatal(err)
	}
	if c := parseCopy(body[1:]); Kind(body[0]>>5) != KindCopy || c == nil || c.From != 1<<63 {
		t.Errorf("who knows nothing of late ticks finds no copy of nothing: %v", c)
	}
}

// A late tick that cannot be recorded changes nothing.
func TestLateRefused(t *testing.T) {
	m := newMachine(3)
	enc, dec := NewEncoder(), NewDecoder(false, nil)
	var rec Record
	for range 5 {
		bad := m.tick(metric.Fast)
		bad.Class = metric.NumClasses
		if body, err := enc.Late(nil, bad); err == nil || len(body) != 0 {
			t.Fatal("a late tick of an unknown class is taken")
		}
		tick := m.tick(metric.Process)
		body, err := enc.Late(nil, tick)
		if err != nil || dec.Decode(body, &rec) != nil {
			t.Fatal(err)
		}
		if err := sameTick(tick, rec.Tick); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range map[string][]byte{
		"of no class":            append([]byte{lateByte(metric.NumClasses)}, lateCopy...),
		"without its beginning":  {lateByte(metric.Fast), 1, 2, 3},
		"of a copy of something": append([]byte{lateByte(metric.Fast)}, 0, 7, 9),
	} {
		if err := NewDecoder(false, nil).Decode(body, &rec); err == nil {
			t.Errorf("a late tick %s is decoded", name)
		}
	}
}

// clone copies a tick, because the machine goes on to change it.
func clone(t *metric.Tick) *metric.Tick {
	c := &metric.Tick{Class: t.Class, At: t.At}
	for _, b := range t.Blocks {
		n := &metric.Block{Group: b.Group, At: b.At}
		for _, in := range b.Rows {
			if in != nil {
				own := *in
				in = &own
			}
			n.Rows = append(n.Rows, in)
		}
		for _, col := range b.Cols {
			n.Cols = append(n.Cols, metric.Column{Bits: append([]uint64(nil), col.Bits...), Miss: append([]metric.Reason(nil), col.Miss...), Words: col.Words})
		}
		c.Blocks = append(c.Blocks, n)
	}
	return c
}
