package engine

import (
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// idleSink discards everything, without allocating.
type idleSink struct{ memorySink }

func (*idleSink) Append(*metric.Tick) error { return nil }

// crowd is a source with many instances and metrics.
func crowd(instances, metrics int) *probe {
	g := &metric.Group{Name: "crowd", Indom: "process"}
	for range metrics {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: "crowd.m", Type: metric.U64, Indom: "process", Class: metric.Process})
	}
	ins := make([]*metric.Instance, instances)
	for i := range ins {
		ins[i] = &metric.Instance{ID: uint64(i), Key: "k"}
	}
	return &probe{name: "crowd", groups: []*metric.Group{g}, read: func(c *sample.Context, frames []*sample.Frame) error {
		for _, f := range frames {
			f.Reset(c.Now())
			for _, in := range ins {
				row := f.Row(in)
				for m := range metrics {
					f.SetUint(row, m, uint64(m))
				}
			}
		}
		return nil
	}}
}

func tickOnce(tb testing.TB) func() {
	start := time.Now()
	e, err := New(Options{
		Sources: []sample.Source{crowd(1200, 16)}, Plan: defaultPlan(), Sink: &idleSink{},
		Now: func() metric.Stamp {
			d := int64(time.Since(start))
			return metric.Stamp{Wall: d, Awake: d, Cont: d}
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	e.adopt(true)
	r := e.classes[metric.Process].newReader(0)
	return func() {
		r.begin()
		r.finish(0)
	}
}

func TestATickDoesNotAllocate(t *testing.T) {
	tick := tickOnce(t)
	tick()
	if n := testing.AllocsPerRun(20, tick); n != 0 {
		t.Errorf("a tick of 1200 instances and 16 metrics allocates %v times", n)
	}
}

func BenchmarkTick(b *testing.B) {
	tick := tickOnce(b)
	b.ReportAllocs()
	for b.Loop() {
		tick()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1200*16), "ns/value")
}
