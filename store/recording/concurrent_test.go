package recording

import (
	"slices"
	"sync"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/storetest/proof"
)

// One goroutine appends, while others record events, rotate, change the configuration, ask
// for the status and read. Nothing may be lost or recorded twice, and the reader must not
// see damage. Time passes with the ticks, as fast as they are accepted: in a bubble nobody
// would be busy while another goroutine appends.
func TestEverythingAtOnce(t *testing.T) {
	dir, clock := t.TempDir(), proof.NewClock(now())
	opt := testOptions(dir)
	opt.Seal, opt.Sync, opt.Now = 5*time.Second, time.Millisecond, clock.Now
	w := create(t, opt)
	const ticks, rotations = 1500, 6
	var group sync.WaitGroup
	done, turned := make(chan struct{}), make(chan struct{})
	group.Go(func() {
		defer close(done)
		at := clock.Now()
		for n := range ticks {
			at.Wall, at.Awake, at.Cont = at.Wall+1e9, at.Awake+1e9, at.Cont+1e9
			clock.Set(at)
			if n == ticks-1 {
				<-turned // however fast the others were
			}
			if err := w.Append(testTick(at, n)); err != nil {
				t.Errorf("tick %d: %v", n, err)
				return
			}
		}
	})
	until := func(fn func() error) {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
				if err := fn(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	until(func() error { w.Status(); return nil })
	until(func() error { return w.Event(metric.Event{At: clock.Now(), Kind: metric.EventMount, Text: "mounted"}) })
	until(func() error {
		return w.Describe([]*metric.Desc{{Name: "mem.d", Type: metric.U64, Class: metric.Fast, Help: "another"}})
	})
	until(func() error { return w.Reconfigure("y = 2\n", opt.Intervals, opt.Sync, opt.Seal) })
	rotated := 0
	until(func() error {
		if rotated++; rotated > rotations {
			return nil
		}
		_, err := w.Rotate("test")
		if rotated == 1 {
			close(turned)
		}
		return err
	})
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last := 0
	until(func() error {
		if err := r.Refresh(); err != nil {
			return err
		}
		got := readNumbers(t, r)
		if !slices.Equal(got, upTo(len(got))) || len(got) < last {
			t.Errorf("a reader saw %d ticks after %d, or not these", len(got), last)
		}
		last = len(got)
		return nil
	})
	group.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, dir); !slices.Equal(got, upTo(ticks)) {
		t.Fatalf("%d ticks of %d", len(got), ticks)
	}
	if n := len(events(t, dir, metric.EventRotate)); n == 0 || n%2 != 0 {
		t.Fatalf("%d rotate events", n)
	}
}
