package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/pushstate"
	"tachograph/store/follow"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/seed"
)

// What was refused is pushed again as it was made then, wherever that is killed, until
// the receiver has all there is; and where the other pushes go on stays.
func TestAgain(t *testing.T) {
	lots, again := seed.Of(t, 1), 0
	for round := uint64(1); again == 0; round++ { // until one is killed between sending and noting it
		if round > 20 {
			t.Fatal("none was sent that the receiver may have had")
		}
		again = pushAgain(t, rand.New(rand.NewPCG(lots, round)))
	}
}

// pushAgain pushes a recording, parts of which are refused at first, and reports how often
// something was sent that the receiver may have had.
func pushAgain(t *testing.T, rng *rand.Rand) int {
	t.Helper()
	dir, items := recorded.RecordDir(t, 7, 120)
	state := filepath.Join(t.TempDir(), "x.push")
	open, oldest := Archives(follow.Options{}, dir)
	r := newReceiver(t, rng)
	r.calm = true
	r.refuse = func() bool { return rng.IntN(3) > 0 }
	run := func(again bool) (pushstate.State, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.kill = cancel
		e := New(Options{Target: "test", Sink: r, Open: open, Oldest: oldest, State: state, MaxValues: 150, Again: again})
		err := e.Run(ctx)
		return e.State(), err
	}
	first, err := run(false)
	if err != nil || len(first.Set) < 5 || int(first.Refused) != len(first.Set) || first.RefusedValues == 0 {
		t.Fatalf("%v: %d set aside of %d", err, len(first.Set), first.Refused)
	}
	r.calm = false
	s := first
	for runs := 0; len(s.Set) > 0; runs++ {
		if s, err = run(true); err != nil && !errors.Is(err, context.Canceled) || runs > 1000 {
			t.Fatal(runs, err)
		}
	}
	if s.Acked != first.Acked || s.AckedWall != first.AckedWall || s.Refused != 0 || s.RefusedValues != 0 || s.Lost != 0 || s.Values != first.Values+first.RefusedValues || s.Waiting != 0 {
		t.Errorf("at the end: %+v", s)
	}
	ticks, wanted := make(map[string]int), 0
	for _, l := range r.lines() {
		if strings.HasPrefix(l, "tick") {
			ticks[l]++
		}
	}
	for _, it := range items {
		if it.Tick != nil {
			wanted++
		}
	}
	if len(ticks) != wanted {
		t.Errorf("%d ticks, want %d", len(ticks), wanted)
	}
	return r.again
}

// What is refused once more stays, with why and when; what is not in the archives any
// more is told as lost; and what is not refused is not looked at.
func TestAgainRefusedOrGone(t *testing.T) {
	refused := func(why string) error { return &Refused{errors.New(why)} }
	state := filepath.Join(t.TempDir(), "s")
	first, _, err := tried(t, state, &script{answers: []error{refused("a"), nil, refused("b"), refused("c")}}, func(o *Options) { o.Since = 1001e9 })
	if err != nil || len(first.Set) != 3 || first.Set[0].Values != 2 {
		t.Fatalf("%v: %+v", err, first)
	}
	s := &script{answers: []error{nil, refused("still")}}
	st, _, err := tried(t, state, s, func(o *Options) { o.Again = true })
	if err != nil || len(s.tries) != 3 || len(st.Set) != 1 || st.Set[0].Why != "still" || st.Set[0].Sent || st.Refused != 1 || st.RefusedValues != 2 {
		t.Fatalf("%v, %d tries: %+v", err, len(s.tries), st)
	}
	gone := func(o *Options) {
		o.Again = true
		o.Open = func(follow.Position, bool) (Follower, error) { return nil, fmt.Errorf("x: %w", follow.ErrGone) }
	}
	if st, notes, err := tried(t, state, &script{}, gone); err != nil || len(st.Set) != 0 || st.Lost != 1 || len(notes) != 1 || !strings.Contains(notes[0], "is not in the archives any more") {
		t.Errorf("%v, told %q: %+v", err, notes, st)
	}
	if st, notes, err := tried(t, state, &script{}, gone); err != nil || len(notes) != 0 || st.Acked != first.Acked {
		t.Errorf("%v, told %q: %+v", err, notes, st)
	}
}

// Of the archive of a batch that was on its way nothing may be left but its name.
func TestNothingIsLeftOfABatchOnItsWay(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s")
	from, to := follow.Position{Archive: "a1"}, follow.Position{Archive: "a1", Events: 1}
	old := &pushstate.State{Target: "http://x/write", Acked: from.String(), InFlight: to.String()}
	if err := old.Write(state); err != nil {
		t.Fatal(err)
	}
	s := &script{}
	st, _, err := tried(t, state, s, func(o *Options) {
		o.Open = func(from follow.Position, _ bool) (Follower, error) { return reelFrom("b2", 10, from), nil }
	})
	if err != nil || s.taken != 10 || st.InFlight != "" {
		t.Errorf("%v: %+v", err, st)
	}
}
