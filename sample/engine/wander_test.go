package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

// A service that lives for 400 ms of every ten seconds is met by sweeps every five seconds,
// whenever it begins, and the sweeps stay five seconds apart.
func TestSweepsMoveTheirPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Process, metric.Fast)))
		time.Sleep(10*time.Minute + time.Second/2)
		stop()
		ticks := w.sink.of(metric.Process, "a.process")
		if n := len(ticks); n < 117 || n > 122 {
			t.Errorf("%d sweeps in ten minutes", n)
		}
		for i := 1; i < len(ticks); i++ {
			if gap := time.Duration(ticks[i].at.Awake - ticks[i-1].at.Awake); gap < 4500*time.Millisecond || gap > 5500*time.Millisecond {
				t.Fatalf("sweeps %v apart", gap)
			}
		}
		const period = int64(10 * time.Second)
		for begin := int64(0); begin < period; begin += int64(100 * time.Millisecond) {
			met := 0
			for _, tick := range ticks {
				if (tick.at.Awake-begin+period)%period < int64(400*time.Millisecond) {
					met++
				}
			}
			if met == 0 {
				t.Errorf("what begins at %v of every ten seconds is never met", time.Duration(begin))
			}
		}
		for i, tick := range w.sink.of(metric.Fast, "a.fast") {
			if i > 0 && (tick.at.Awake-ticks[0].at.Awake+int64(phase(metric.Process)))%int64(time.Second) != 0 {
				t.Fatal("the totals left their grid")
			}
		}
	})
}
