package journal

import (
	"testing"

	"tachograph/sample/metric"
)

// A tick can be completed whichever of the earlier ones of its half were, and whatever was of the
// other half.
func TestLater(t *testing.T) {
	file := &memFile{}
	w := NewWriter(file, head, nil)
	m := newMachine(4)
	var ticks []*metric.Tick
	for i := range 60 {
		tick := m.tick([...]metric.Class{metric.Fast, metric.Process, metric.Polled, metric.Costly}[i%4])
		ticks = append(ticks, copyOf(tick))
		if err := w.Tick(tick); err != nil {
			t.Fatal(err)
		}
	}
	for name, wanted := range map[string]func(i int, c metric.Class) bool{
		"all":       func(int, metric.Class) bool { return true },
		"system":    func(_ int, c metric.Class) bool { return HalfOf(c) == systemHalf },
		"processes": func(_ int, c metric.Class) bool { return HalfOf(c) == processHalf },
		"some":      func(i int, _ metric.Class) bool { return i%7 == 3 },
		"the last":  func(i int, _ metric.Class) bool { return i == 59 },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(file, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.later = true
			var later []*Later
			for range ticks {
				rec, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				i := len(later)
				if got := rec.Tick; got.At != ticks[i].At || got.Class != ticks[i].Class || len(got.Blocks) != len(ticks[i].Blocks) {
					t.Errorf("tick %d begins as %v of %v with %d blocks", i, got.At, got.Class, len(got.Blocks))
				}
				later = append(later, rec.Later)
			}
			for i, l := range later {
				if !wanted(i, ticks[i].Class) {
					continue
				}
				var got metric.Tick
				if err := l.Decode(&got); err != nil {
					t.Fatal(err)
				}
				if err := sameTick(ticks[i], &got); err != nil {
					t.Errorf("tick %d: %v", i, err)
				}
			}
			if err := later[0].Decode(new(metric.Tick)); wanted(0, ticks[0].Class) && err == nil {
				t.Error("a tick is completed twice")
			}
		})
	}
}

// What is damaged in a way that no checksum shows costs the half that it is in.
func TestLaterOfDamagedRows(t *testing.T) {
	m := newMachine(5)
	enc := NewEncoder()
	system, err := enc.Tick(nil, m.tick(metric.Fast))
	if err != nil {
		t.Fatal(err)
	}
	processes, err := enc.Tick(nil, m.tick(metric.Process))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := 1; n < len(processes); n += 31 {
		dec := NewDecoder(false, nil)
		dec.later = keptOf(dec.s)
		decode := func(body []byte) (*Later, error) {
			var rec Record
			err := dec.Decode(body, &rec)
			return rec.Later, err
		}
		first, err := decode(system)
		if err != nil {
			t.Fatal(err)
		}
		second, err := decode(processes[:n])
		if err != nil {
			continue // its beginning is cut
		}
		if err := second.Decode(new(metric.Tick)); err != nil {
			failed++
		}
		if err := first.Decode(new(metric.Tick)); err != nil {
			t.Errorf("the other half: %v", err)
		}
	}
	if failed == 0 {
		t.Error("no cut record failed")
	}
}
