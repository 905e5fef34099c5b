package service

import (
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
)

// deafSource is an interface that counts packets, and no bytes.
type deafSource struct {
	group metric.Group
	began time.Time
}

func newDeafSource() *deafSource {
	s := &deafSource{group: metric.Group{Name: "deaf", Indom: "interface"}, began: time.Now()}
	for _, name := range []string{"network.interface.in.packets", "network.interface.in.bytes"} {
		s.group.Metrics = append(s.group.Metrics, catalog.Find(platform.Catalog, name))
	}
	return s
}

func (s *deafSource) Name() string            { return "deaf" }
func (s *deafSource) Groups() []*metric.Group { return []*metric.Group{&s.group} }
func (s *deafSource) Refresh() error          { return nil }
func (s *deafSource) Close() error            { return nil }
func (s *deafSource) Read(c *sample.Context, frames []*sample.Frame) error {
	for _, f := range frames {
		f.Reset(c.Now())
		row := f.Row(&metric.Instance{ID: 1, Key: "en0", Name: "en0"})
		f.SetUint(row, 0, uint64(time.Since(s.began)/time.Millisecond))
		f.SetUint(row, 1, 4711)
	}
	return nil
}

// What two witnesses contradict is told once in each archive, with the time since when.
func TestWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.more = []sample.Source{newDeafSource()}
		s, stop := b.run()
		time.Sleep(3 * time.Hour)
		if _, err := s.Rotate("by hand"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		stop()
		events := b.archive.kinds(metric.EventDistrustBegin)
		if len(events) != 2 {
			t.Fatalf("%d events: %+v", len(events), events)
		}
		since, again := events[0].Label("from"), events[1].Label("from")
		if events[0].Key != "en0" || since == "" || since != again || events[0].Text != events[1].Text {
			t.Errorf("told %+v, and again %+v", events[0], events[1])
		}
		if first := events[0].At.Time().Sub(evening); first > 10*time.Minute {
			t.Errorf("it took %s", first)
		}
	})
}
