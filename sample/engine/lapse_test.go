package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// If a source loses a part of its values, that is reported as if it had failed. If it never
// had them, or lacks them for a good reason, it is not.
func TestPartOfASourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		failed, withheld := metric.FailureFor("sysctl b: input/output error"), metric.ReasonFor("this is how things are")
		var broken atomic.Bool
		src := &probe{name: "src", groups: []*metric.Group{{Name: "g", Metrics: []*metric.Desc{
			{Name: "a", Type: metric.U64, Class: metric.Fast}, {Name: "b", Type: metric.U64, Class: metric.Fast},
			{Name: "c", Type: metric.U64, Class: metric.Fast}, {Name: "never", Type: metric.U64, Class: metric.Fast},
		}}}}
		src.read = func(c *sample.Context, frames []*sample.Frame) error {
			for _, f := range frames {
				f.Reset(c.Now())
				row := f.Row(nil)
				f.SetUint(row, 0, 1)
				f.SetMissing(row, 3, failed)
				if broken.Load() {
					f.SetMissing(row, 1, failed)
					f.SetMissing(row, 2, withheld)
				} else {
					f.SetUint(row, 1, 2)
					f.SetUint(row, 2, 3)
				}
			}
			return nil
		}
		_, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(10*time.Second + time.Second/2)
		if n := len(w.sink.kinds(metric.EventErrorBegin)); n != 0 {
			t.Errorf("%d errors before anything failed", n)
		}
		broken.Store(true)
		time.Sleep(time.Minute)
		broken.Store(false)
		time.Sleep(10 * time.Minute)
		stop()
		begins, ends := w.sink.kinds(metric.EventErrorBegin), w.sink.kinds(metric.EventErrorEnd)
		if len(begins) != 1 || begins[0].Text != "source src: sysctl b: input/output error (b is absent)" || len(ends) != 1 || ends[0].Label("count") != "60" {
			t.Errorf("events: %+v %+v", begins, ends)
		}
	})
}
