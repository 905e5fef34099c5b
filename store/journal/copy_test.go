package journal

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tachograph/sample/metric"
)

// memory is a journal file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if n := int(off) + len(p) - len(m.b); n > 0 {
		m.b = append(m.b, make([]byte, n)...)
	}
	return copy(m.b[off:], p), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(m.b).ReadAt(p, off) }
func (m *memory) Size() (int64, error)                    { return int64(len(m.b)), nil }

// twoGenerations returns a generation of three events, and one that holds, between two
// events, a copy of the first. The copy claims to end with record to.
func twoGenerations(t *testing.T, to uint64) (first, second *memory) {
	t.Helper()
	first, second = &memory{}, &memory{}
	event := func(w *Writer) {
		if err := w.Event(&metric.Event{Kind: metric.EventGap, Text: "a gap"}); err != nil {
			t.Fatal(err)
		}
	}
	w := NewWriter(first, Header{Archive: "a", Generation: 1}, nil)
	for range 3 {
		event(w)
	}
	w = NewWriter(second, Header{Archive: "a", Generation: 2, Base: 3}, nil)
	event(w)
	if err := w.Copy(&Copy{From: 0, To: to, Data: []byte("what it holds")}); err != nil {
		t.Fatal(err)
	}
	event(w)
	return first, second
}

// If a later generation holds a copy of a generation, and the generation is what the copy
// says, it need not be decoded.
func TestCopyStandsForItsGeneration(t *testing.T) {
	for _, c := range []struct {
		name   string
		to     uint64
		change func(first *memory)
		used   bool
	}{
		{"whole", 3, func(*memory) {}, true},
		{"of fewer records", 2, func(*memory) {}, false},
		{"of more records", 4, func(*memory) {}, false},
		{"cut short", 3, func(m *memory) { m.b = m.b[:len(m.b)-1] }, false},
		{"damaged", 3, func(m *memory) { m.b[len(m.b)-1] ^= 1 }, false},
		{"with the past behind its mark", 3, func(m *memory) { m.b = append(m.b, m.b...) }, true},
		{"without a mark, and with something behind", 3, func(m *memory) { m.b = append(m.b[:len(m.b)-MarkSize], 1) }, false},
		{"without a beginning", 3, func(m *memory) { m.b[1] ^= 1 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := twoGenerations(t, c.to)
			c.change(first)
			all := []*Generation{{File: first, Number: 1, Old: true}, {File: second, Number: 2}}
			f := &Follower{Archive: "a", Counted: true}
			found := f.Copies(all)
			if found[1] != nil || (found[0] != nil) != c.used {
				t.Fatalf("copies %v, want one: %t", found, c.used)
			}
			records := 0
			take := func(rec *Record) {
				if rec.Kind == KindEvent {
					records++
				}
			}
			if c.used {
				if string(found[0].Data) != "what it holds" {
					t.Errorf("it holds %q", found[0].Data)
				}
				all[0].Skip(found[0], 5)
				if end := f.Follow(all[0], take, func(h *Hole) { t.Error(h) }); end.Err != nil || records != 0 || f.Last != 5 {
					t.Errorf("%v, %d records, last at %d", end.Err, records, f.Last)
				}
			}
			if end := f.Follow(all[1], take, func(*Hole) {}); end.Err != nil || records != 2 || f.Seq != 6 {
				t.Errorf("%v, %d records up to %d", end.Err, records, f.Seq)
			}
			if c.used && f.Copies(all)[0] != nil {
				t.Error("what has been read is to be read again")
			}
		})
	}
}

// If the archive holds the records, no copy is used. A reader that wants all records decodes
// them.
func TestCopyThatIsNotWanted(t *testing.T) {
	for _, f := range []*Follower{{Archive: "a", Counted: true, Seq: 1}, {Archive: "a", All: true}, {Archive: "b"}} {
		first, second := twoGenerations(t, 3)
		for _, c := range f.Copies([]*Generation{{File: first, Number: 1, Old: true}, {File: second, Number: 2}}) {
			if c != nil {
				t.Errorf("%+v uses it", f)
			}
		}
	}
}

func TestCopyThatMakesNoSense(t *testing.T) {
	for _, body := range [][]byte{{}, {1}, {0x80}, {3, 0x80}, {3, 3}, {3, 2}, binary.AppendUvarint([]byte{0}, 0)} {
		if c := parseCopy(body); c != nil {
			t.Errorf("%v is %+v", body, c)
		}
		if err := NewDecoder(false, nil).Decode(append([]byte{byte(KindCopy) << 5}, body...), &Record{}); err == nil {
			t.Errorf("%v is decoded", body)
		}
	}
}
