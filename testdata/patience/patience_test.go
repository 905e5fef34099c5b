package patience

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	n := 0
	Until(t, "it was asked three times", func() bool { n++; return n == 3 })
}

// vain is a test that fails when it is told to.
type vain struct {
	testing.TB
	said string
}

func (v *vain) Helper() {}
func (v *vain) Fatalf(format string, args ...any) {
	v.said = format
	panic(v)
}

func TestUntilGivesUp(t *testing.T) {
	v := &vain{TB: t}
	defer func() {
		if recover() != v || v.said == "" {
			t.Errorf("waiting for what never comes ended without a message")
		}
	}()
	UntilFor(v, 50*time.Millisecond, "the moon is blue", func() bool { return false })
}

func TestContextEnds(t *testing.T) {
	ctx := Context(t, 10*time.Millisecond)
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}

// A wait counts less time where the machine is late.
func TestLateMachineWaitsLonger(t *testing.T) {
	Late()
	lateness.Lock()
	kept := lateness.factor
	lateness.factor, lateness.measured = 10, time.Now().Add(time.Hour)
	lateness.Unlock()
	defer func() {
		lateness.Lock()
		lateness.factor, lateness.measured = kept, time.Now()
		lateness.Unlock()
	}()
	w := newWait(&vain{TB: t}, time.Second)
	w.last = time.Now().Add(-5 * time.Second)
	if w.over() {
		t.Error("a second is over after five of a machine that is ten times late")
	}
	if w.last = time.Now().Add(-6 * time.Second); !w.over() {
		t.Error("a second is not over after eleven of a machine that is ten times late")
	}
	if got := Stretch(time.Second); got != 20*time.Second {
		t.Errorf("a second stretched is %v", got)
	}
}

func BenchmarkWork(b *testing.B) {
	for b.Loop() {
		work()
	}
}
