package journal

import (
	"fmt"
	"math"
	"testing"

	"tachograph/sample/metric"
)

// Counts that no encoder writes, of columns, labels, rows, blocks and letters.
func TestCountsWithoutMeasure(t *testing.T) {
	for _, n := range []uint64{1 << 20, 1 << 31, 1 << 62, 1 << 63, math.MaxUint64} {
		for name, write := range map[string]func(s *state){
			"blocks": func(s *state) {
				k := s.classOf(metric.Fast)
				s.stamp(&k.at, metric.Stamp{Cont: 1})
				s.coder.bit(&k.same, 0)
				s.coder.unsigned(&k.count, n)
			},
			"columns": func(s *state) {
				begin(s)
				s.coder.unsigned(&s.columns, n)
			},
			"rows": func(s *state) {
				g := rowsOf(s)
				s.coder.tree(g.sameRows[:], 2, rowsListed)
				s.coder.unsigned(&g.count, n)
			},
			"new rows": func(s *state) {
				g := rowsOf(s)
				s.coder.tree(g.sameRows[:], 2, rowsEdited)
				s.coder.unsigned(&g.inserted, n)
			},
			"letters": func(s *state) {
				k := s.classOf(metric.Fast)
				s.stamp(&k.at, metric.Stamp{Cont: 1})
				s.coder.bit(&k.same, 0)
				s.coder.unsigned(&k.count, 1)
				s.coder.signed(&k.ref, 0)
				s.coder.bit(&s.names.same, 0)
				s.coder.bit(&s.names.plain, 0)
				s.coder.unsigned(&s.names.length, n)
			},
		} {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				s := newState()
				s.coder.startEncoding([]byte{byte(KindTick)<<5 | byte(metric.Fast)})
				write(s)
				var rec Record
				if err := NewDecoder(true, nil).Decode(s.coder.finishEncoding(), &rec); err == nil {
					t.Error("it decodes")
				}
			})
		}
		s := newState()
		s.coder.startEncoding([]byte{byte(KindEvent) << 5})
		s.stamp(&s.events.at, metric.Stamp{})
		for _, f := range []*field{s.events.kind, s.events.of("").indom, s.events.of("").key, s.events.of("").text} {
			s.coder.text(&s.texts, f, "")
		}
		s.coder.unsigned(&s.events.of("").labels, n)
		var rec Record
		if err := NewDecoder(true, nil).Decode(s.coder.finishEncoding(), &rec); err == nil {
			t.Errorf("an event of %d labels decodes", n)
		}
	}
}

// begin encodes a tick up to the number of columns of its first group.
func begin(s *state) {
	k := s.classOf(metric.Fast)
	s.stamp(&k.at, metric.Stamp{Cont: 1})
	s.coder.bit(&k.same, 0)
	s.coder.unsigned(&k.count, 1)
	s.coder.signed(&k.ref, 0)
	s.coder.text(&s.texts, s.names, "g")
	s.coder.text(&s.texts, s.names, "disk")
}

// rowsOf encodes a tick up to the rows of its first group.
func rowsOf(s *state) *group {
	begin(s)
	s.coder.unsigned(&s.columns, 1)
	s.desc(&metric.Desc{Name: "m", Type: metric.U64})
	g, err := s.groups[0].add(&metric.Group{Name: "g", Indom: "disk", Metrics: []*metric.Desc{{Name: "m", Type: metric.U64}}})
	if err != nil {
		panic(err)
	}
	g.begin(s)
	s.coder.bit(&g.sameAt, 1)
	return g
}

// A generation is full long before a decoder refuses it.
func TestFullBeforeItIsRefused(t *testing.T) {
	enc, dec := NewEncoder(), NewDecoder(false, nil)
	var rec Record
	for i := 0; !enc.Full(); i++ {
		if i > 1e6 {
			t.Fatal("it is never full")
		}
		e := metric.Event{Kind: "k", Text: fmt.Sprintf("%0200d", i*7919)}
		body, err := enc.Event(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(body, &rec); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}
