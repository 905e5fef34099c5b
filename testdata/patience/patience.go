// Package patience lets tests wait for a condition, for as long as the machine
// that they run on needs.
//
// A deadline in a test only ends a wait that would be in vain. It is given in time of an idle
// machine, and is stretched by how slow this machine is at the moment: by how much longer a
// fixed piece of work takes than on the machine that the deadlines were written on. Other
// processes, the race detector and an emulated processor all stretch it.
package patience

import (
	"context"
	"sync"
	"testing"
	"time"
)

const (
	// usual is how long a test waits if it does not say.
	usual = time.Minute
	// look is the pause between two checks of a condition.
	look = 5 * time.Millisecond
	// between is how long a measurement of lateness is used.
	between = time.Second
	// reserve is how long before the end of the whole test binary a wait gives up,
	// so that its own message is printed.
	reserve = 15 * time.Second
	// most bounds one measurement, because the machine may have been stopped during it.
	most = 200
)

// Until waits until ok, for a minute of an idle machine. what completes "waited in vain until".
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	UntilFor(t, usual, what, ok)
}

// UntilFor waits until ok, for d of an idle machine.
func UntilFor(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	began := time.Now()
	w := newWait(t, d)
	for !ok() {
		if w.over() {
			t.Fatalf("waited in vain until %s (%v, with the machine %.1f times late)", what, time.Since(began).Round(time.Second), Late())
		}
		<-time.After(look)
	}
}

// Context returns a context that ends after d of an idle machine, and with the test.
func Context(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWait(t, d)
	go func() {
		for tick := time.NewTicker(between / 4); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				if w.over() {
					cancel(context.DeadlineExceeded)
				}
			}
		}
	}()
	t.Cleanup(func() { cancel(nil) })
	return ctx
}

// Stretch returns how long d of an idle machine is on this one at present, for calls that take a
// fixed deadline. It is twice the measured time, because the machine may become busier.
func Stretch(d time.Duration) time.Duration {
	return time.Duration(2 * Late() * float64(d))
}

// A wait counts down time of an idle machine.
type wait struct {
	left time.Duration
	last time.Time
	end  time.Time // of the test binary; zero: none
}

func newWait(t testing.TB, d time.Duration) *wait {
	w := &wait{left: d, last: time.Now()}
	if bounded, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := bounded.Deadline(); ok {
			w.end = end.Add(-reserve)
		}
	}
	return w
}

// over reports whether the time is up.
func (w *wait) over() bool {
	now := time.Now()
	w.left -= time.Duration(float64(now.Sub(w.last)) / Late())
	w.last = now
	return w.left <= 0 || !w.end.IsZero() && now.After(w.end)
}

var lateness struct {
	sync.Mutex
	measured time.Time
	factor   float64
}

// Late returns how many times longer than on an idle machine work takes now, at least 1. A
// measurement is used for a second.
func Late() float64 {
	lateness.Lock()
	defer lateness.Unlock()
	if lateness.factor == 0 || time.Since(lateness.measured) > between {
		began := time.Now()
		work()
		factor := min(max(float64(time.Since(began))/float64(nominal), 1), most)
		// The state of the machine changes slowly; a single measurement may be lucky.
		lateness.factor = max(factor, lateness.factor*0.9)
		lateness.measured = time.Now()
	}
	return lateness.factor
}

// nominal is how long work takes on an idle machine of 2020 or later. It is long enough for a
// scheduler to let others run in between.
const nominal = 12 * time.Millisecond

var sink uint64

// work does a fixed number of dependent multiplications, which a compiler cannot shorten.
func work() {
	x := sink | 1
	for range 9_000_000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink = x
}
