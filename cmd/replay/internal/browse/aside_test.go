package browse

import (
	"context"
	"testing"
	"time"
)

// A search under way makes room for what is asked meanwhile, and goes on after it.
func TestSearchMakesRoom(t *testing.T) {
	f := newFake(time.Hour)
	begun := make(chan struct{}, 1)
	set := 0
	f.holds = func(ctx context.Context) (int64, int64, bool, error) {
		if set++; set < 3 {
			begun <- struct{}{}
			<-ctx.Done()
			return 0, 0, false, ctx.Err()
		}
		return at(10 * time.Minute), at(11 * time.Minute), true, nil
	}
	r := newRig(t, f, look{width: 80, height: 24})
	r.press("f", "'kernel.all.load > 8'", "Enter")
	r.draw()
	<-begun
	r.press("z") // A part of the timeline, which is to be read.
	r.draw()
	(<-r.a.w.answers)() // of the timeline
	if !r.a.fresh() {
		t.Error("the timeline waits for the search")
	}
	<-begun
	r.press("Enter") // The life of the first process.
	r.settle()
	if f.count("Life") != 1 || f.count("Holds") != 3 {
		t.Errorf("%d lives, %d searches", f.count("Life"), f.count("Holds"))
	}
	if want := at(10 * time.Minute); r.a.at != want {
		t.Errorf("the search led to %s", r.a.clock(r.a.at))
	}
	r.need("holds 00:10:00 to 00:11:00")
}

// What differs is given up by Esc and by moving on, and is not shown later.
func TestDifferenceIsGivenUp(t *testing.T) {
	for _, key := range []string{"Esc", ",", "Left"} {
		f := newFake(time.Hour)
		f.waits = true
		r := newRig(t, f, look{width: 80, height: 24})
		r.keys("m", ",")
		was := r.a.at
		r.press("m")
		r.draw()
		r.a.waited = soon
		r.draw()
		r.need("comparing the two moments (Esc gives up)")
		r.press(key)
		r.settle()
		if r.a.overlay() != nil {
			t.Errorf("after %s the difference is shown", key)
		}
		if moved := r.a.at != was; moved != (key != "Esc") {
			t.Errorf("%s leads to %s", key, r.a.clock(r.a.at))
		}
	}
}

// What has to begin at its beginning is not set aside for ever.
func TestWhatIsSetAsideComesToItsEnd(t *testing.T) {
	w := newWorker()
	defer w.close(time.Minute)
	begun, runs, done := make(chan struct{}), 0, false
	w.ask(askLife, "", func(ctx context.Context) func() {
		runs++
		begun <- struct{}{}
		if runs <= mostAside {
			<-ctx.Done()
		}
		return func() { done = true }
	})
	moments := 0
	for i := range mostAside + 1 {
		<-begun
		if i < mostAside {
			w.ask(askMoment, "", func(context.Context) func() { return func() { moments++ } })
			(<-w.answers)()
		}
	}
	for _, is := w.busy(); is; _, is = w.busy() {
		(<-w.answers)()
	}
	if moments != mostAside || runs != mostAside+1 || !done {
		t.Errorf("%d moments, %d times begun, done: %v", moments, runs, done)
	}
}

// A question that nothing else on the screen shows is told of soon; a jump shows
// itself.
func TestKeysAreAcknowledged(t *testing.T) {
	f := newFake(time.Hour)
	r := newRig(t, f, look{width: 80, height: 24})
	f.gate, f.entered = make(chan struct{}), make(chan struct{}, 4)
	r.press(",")
	r.draw()
	<-f.entered
	r.need("2026-11-20 00:59:00")
	r.a.waited = soon
	if what := r.a.busy(); what != "" {
		t.Errorf("a jump says %q", what)
	}
	r.press("Left")
	r.draw()
	if what := r.a.busy(); what != "reading" {
		t.Errorf("a step says %q", what)
	}
	close(f.gate)
	r.settle()
}
