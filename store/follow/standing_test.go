package follow_test

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// How things stood after a turn to another archive is, of a class that has not been
// read since, as it stood before; but not of another boot.
func TestBaseOfAnArchiveThatHasJustBegun(t *testing.T) {
	m := storetest.NewMachine(3)
	clock := proof.NewClock(m.At(0))
	opt := recorded.ProofOptions(t.TempDir(), 3, clock.Now)
	w, err := recording.Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { w.Close() }()
	play := func(from, to int) {
		for n := from; n < to; n++ {
			clock.Set(m.At(n))
			for _, tick := range m.Ticks(n) {
				if err := w.Append(tick); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	stands := func(from follow.Position) (classes map[metric.Class]bool, at follow.Position) {
		t.Helper()
		f, err := follow.Open(follow.Options{From: from, Standing: true}, opt.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		classes = make(map[metric.Class]bool)
		for {
			it, err := f.Next(t.Context())
			switch {
			case err != nil:
				t.Fatal(err)
			case it.Present:
				return classes, f.Position()
			case it.Tick != nil && it.Standing && classes[it.Tick.Class]:
				t.Errorf("class %v is told twice", it.Tick.Class)
			case it.Tick != nil && it.Standing:
				classes[it.Tick.Class] = true
			case it.Tick != nil:
				t.Errorf("a tick of class %v that is not past", it.Tick.Class)
			}
		}
	}
	play(0, 13)
	if _, err := w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	play(13, 14)
	for _, from := range []bool{false, true} {
		var at follow.Position
		classes, end := stands(at)
		if from {
			classes, _ = stands(end)
		}
		if !classes[metric.Fast] || !classes[metric.Polled] || !classes[metric.Process] || len(classes) != 3 {
			t.Errorf("from a position: %v, after a turn stood %v", from, classes)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	opt.BootID = "another"
	if w, err = recording.Create(opt); err != nil {
		t.Fatal(err)
	}
	play(14, 15)
	if classes, _ := stands(follow.Position{}); len(classes) != 1 {
		t.Errorf("after a boot stood %v", classes)
	}
}
