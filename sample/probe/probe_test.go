package probe

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// script is a source whose Read is a function of the test.
type script struct {
	groups []*metric.Group
	read   func(n int, c *sample.Context, frames []*sample.Frame) error
	n      int
}

func (s *script) Name() string            { return "script" }
func (s *script) Groups() []*metric.Group { return s.groups }
func (s *script) Refresh() error          { return nil }
func (s *script) Close() error            { return nil }
func (s *script) Read(c *sample.Context, frames []*sample.Frame) error {
	s.n++
	return s.read(s.n, c, frames)
}

func all(*metric.Desc) bool { return true }

func TestPair(t *testing.T) {
	group := &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "disk.read", Type: metric.U64, Sem: metric.Counter, Units: metric.Kbytes, Indom: "disk"},
		{Name: "disk.queue", Type: metric.U32, Sem: metric.Instant, Indom: "disk"},
	}}
	src := &script{groups: []*metric.Group{group}}
	src.read = func(n int, c *sample.Context, frames []*sample.Frame) error {
		f := frames[0]
		f.Reset(c.Now())
		// The second disk gets the row of another one, and the third comes later.
		for _, name := range [][]string{{"sdb", "sda"}, {"sda", "sdb", "sdc"}}[n-1] {
			row := f.Row(&metric.Instance{Key: name, Name: name})
			f.SetUint(row, 0, uint64(n*100)+uint64(name[2]))
			if name == "sdb" {
				f.SetMissing(row, 1, metric.Permission)
			} else {
				f.SetUint(row, 1, 7)
			}
		}
		return nil
	}
	at := int64(2e9)
	p := New([]sample.Source{src}, func() metric.Stamp { return metric.Stamp{Cont: at} }, all)
	first := p.Take()
	at += 2e9
	lines := Pair(first, p.Take())
	var got []string
	for _, l := range lines {
		text := l.Metric + " " + l.Instance + " " + l.Value.String()
		if l.HasRate {
			text += " rate"
			if l.Rate != 50 || l.RateUnits != "Kbyte / sec" {
				t.Errorf("%s: rate %v %s", text, l.Rate, l.RateUnits)
			}
		}
		if l.Value.Miss != metric.Present {
			text += l.Value.Miss.String()
		}
		got = append(got, text)
	}
	want := []string{
		"disk.queue sda 7", "disk.queue sdb permission denied", "disk.queue sdc 7",
		"disk.read sda 297 rate", "disk.read sdb 298 rate", "disk.read sdc 299",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestHangingAndFailingSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		groups := func() []*metric.Group {
			return []*metric.Group{{Name: "g", Metrics: []*metric.Desc{{Name: "m"}}}}
		}
		hangs := &script{groups: groups(), read: func(int, *sample.Context, []*sample.Frame) error { <-release; return nil }}
		fails := &script{groups: groups(), read: func(int, *sample.Context, []*sample.Frame) error { return errors.New("no") }}
		p := New([]sample.Source{hangs, fails}, func() metric.Stamp { return metric.Stamp{Awake: time.Now().UnixNano(), Cont: 1} }, all)
		began := time.Now()
		p.Take()
		snap := p.Take()
		if took := time.Since(began); took != Patience {
			t.Errorf("two snapshots took %v", took)
		}
		if snap.Costs[0].Err != errHung || snap.Costs[1].Err == nil || len(snap.Readings) != 0 {
			t.Errorf("snapshot: %+v", snap)
		}
		close(release)
	})
}

func TestNamesSortByNumber(t *testing.T) {
	names := []string{"cpu10", "cpu2", "cpu", "eth1", "cpu1", "eth0"}
	slices.SortFunc(names, compareNames)
	if !slices.Equal(names, []string{"cpu", "cpu1", "cpu2", "cpu10", "eth0", "eth1"}) {
		t.Errorf("%q", names)
	}
}
