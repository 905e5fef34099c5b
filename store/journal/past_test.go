package journal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tachograph/sample/metric"
)

// A generation is written over an earlier one, and a crash keeps any sectors of the last
// writes beside older content. A reader must find everything that was synced and nothing
// that was not written. If all writes but the last are there, it must not report damage.
func TestTornOverThePast(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for round := range 100 {
		past := &memFile{}
		write(t, past, 1, 0, 60, rnd)
		// The content of the file after each record.
		var states [][]byte
		f := &memFile{data: slices.Clone(past.data)}
		w := NewWriter(f, Header{Archive: "a", Generation: 2, Base: 60}, nil)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		states = append(states, slices.Clone(f.data))
		n := 1 + rnd.IntN(40)
		for i := range n {
			record(t, w, 60+i, rnd)
			states = append(states, slices.Clone(f.data))
		}
		synced := rnd.IntN(n + 1)
		ordered := round%2 == 0
		if ordered {
			synced = n - 1
		}
		b := slices.Clone(states[synced])
		for from := 0; from < len(f.data); from += sector {
			to := min(from+sector, len(f.data))
			if state := states[synced+rnd.IntN(n+1-synced)]; len(state) >= to {
				if len(b) < to {
					b = append(b, make([]byte, to-len(b))...)
				}
				copy(b[from:to], state[from:to])
			}
		}
		var got []string
		g := &Generation{File: &memFile{data: b}, Number: 2}
		end := (&Follower{Archive: "a", Counted: true, Seq: 60, First: 2}).Follow(g, func(rec *Record) {
			got = append(got, rec.Event.Key)
		}, func(h *Hole) { t.Error(h) })
		if ordered && end.Verdict != Whole && end.Verdict != CutShort {
			t.Fatalf("round %d: verdict %d, %v, after %d records of %d of which %d were synced", round, end.Verdict, end.Err, len(got), n, synced)
		}
		if len(got) < synced || len(got) > n {
			t.Fatalf("round %d: %d records of %d, of which %d were synced", round, len(got), n, synced)
		}
		for i, key := range got {
			if key != fmt.Sprint(60+i) {
				t.Fatalf("round %d: record %d is %s", round, i, key)
			}
		}
	}
}

// write writes a generation of n records.
func write(t *testing.T, f *memFile, generation, base uint64, n int, rnd *rand.Rand) {
	w := NewWriter(f, Header{Archive: "a", Generation: generation, Base: base}, nil)
	for i := range n {
		record(t, w, int(base)+i, rnd)
	}
}

// record writes an event of random length.
func record(t *testing.T, w *Writer, number int, rnd *rand.Rand) {
	text := make([]byte, rnd.IntN(1+rnd.IntN(1500)))
	for i := range text {
		text[i] = byte(rnd.Uint32())
	}
	if err := w.Event(&metric.Event{Kind: metric.EventGap, Key: fmt.Sprint(number), Text: string(text)}); err != nil {
		t.Fatal(err)
	}
}

// If another generation is in a file's place, it is not mistaken for the expected one, and a
// generation that the archive does not need is not read.
func TestAnotherGenerationInItsPlace(t *testing.T) {
	f := &memFile{}
	write(t, f, 2, 60, 3, rand.New(rand.NewPCG(1, 1)))
	records := 0
	take := func(*Record) { records++ }
	lost := func(h *Hole) { t.Error(h) }
	if end := (&Follower{Archive: "a", Counted: true, First: 1}).Follow(&Generation{File: f, Number: 1}, take, lost); end.Verdict != Headless || records != 0 {
		t.Errorf("%v, %d records", end.Err, records)
	}
	if end := (&Follower{Archive: "a", Counted: true, First: 2}).Follow(&Generation{File: f, Number: 1}, take, lost); end.Err != nil || records != 0 {
		t.Errorf("%v, %d records", end.Err, records)
	}
}
