package query_test

import (
	"fmt"
	"iter"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/mend"
	"tachograph/store/query"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// undigested is an archive without digests: every chunk is decoded.
type undigested struct {
	query.Archive
	reader *store.Reader
}

func (u undigested) SummarizeByChunk(sel store.Selection) iter.Seq[[]store.Summary] {
	return u.reader.SummarizeByChunk(sel)
}

func (u undigested) LookupIn(info *store.ArchiveInfo, name string) *metric.Desc {
	return u.reader.LookupIn(info, name)
}

// crowd is a machine on which processes come and go.
type crowd struct {
	rnd   *rand.Rand
	group *metric.Group
	at    metric.Stamp
	pid   int
	live  []*crowded
	// labels are given to processes; partly are read only now and then.
	labels, partly bool
}

type crowded struct {
	metric.Instance
	left, skip int
	counters   [4]uint64
	rss, peak  uint64
	idle, last bool
}

const crowdInterval = 30 * time.Second

func newCrowd(seed uint64, labels, partly bool) *crowd {
	desc := func(name string, sem metric.Semantics, u metric.Units) *metric.Desc {
		return &metric.Desc{Name: name, Type: metric.U64, Sem: sem, Units: u, Indom: "process", Class: metric.Process, Falls: metric.NeverRestarts}
	}
	ms := metric.Milliseconds
	c := &crowd{rnd: rand.New(rand.NewPCG(seed, 1)), labels: labels, partly: partly}
	c.at = metric.Stamp{Wall: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano(), Cont: 1e15, Awake: 1e15}
	c.group = &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{
		desc("proc.psinfo.utime", metric.Counter, ms), desc("proc.psinfo.stime", metric.Counter, ms),
		desc("proc.psinfo.minflt", metric.Counter, metric.Counts), desc("proc.io.read_bytes", metric.Counter, metric.Bytes),
		desc("proc.memory.rss", metric.Instant, metric.Bytes), desc("proc.memory.vmhwm", metric.Instant, metric.Bytes),
	}}
	return c
}

func (c *crowd) birth() {
	c.pid++
	p := &crowded{left: 1 + c.rnd.IntN(3), idle: c.rnd.IntN(4) == 0}
	switch c.rnd.IntN(12) {
	case 0:
		p.left = 1 << 20
	case 1, 2:
		p.left = 20 + c.rnd.IntN(400)
	}
	p.ID = uint64(c.pid)
	p.Key = fmt.Sprintf("%d/%d", c.pid%997, c.at.Cont/1e7)
	p.call(c, c.pid%997)
	p.rss = uint64(c.rnd.IntN(1 << 30))
	for k := range p.counters {
		p.counters[k] = uint64(c.rnd.ExpFloat64() * 1000)
	}
	if c.labels {
		p.Labels = append(p.Labels, metric.Label{Name: "start", Value: time.Unix(0, c.at.Wall-int64(c.rnd.IntN(25e9))).UTC().Format(time.RFC3339Nano)})
		p.Labels = append(p.Labels, metric.Label{Name: "uid", Value: fmt.Sprint(c.rnd.IntN(3))})
	}
	c.live = append(c.live, p)
}

func (p *crowded) call(c *crowd, pid int) {
	name := fmt.Sprintf("program%d", int(c.rnd.ExpFloat64()*4))
	p.Name = fmt.Sprintf("%06d %s", pid, name)
	p.Rev++
}

func (c *crowd) tick() *metric.Tick {
	every := int64(crowdInterval)
	if c.rnd.IntN(150) == 0 {
		every *= 1 + int64(c.rnd.IntN(12)) // nothing was recorded for a while
	}
	c.at.Wall, c.at.Cont, c.at.Awake = c.at.Wall+every, c.at.Cont+every, c.at.Awake+every
	for range c.rnd.IntN(8) {
		c.birth()
	}
	b := &metric.Block{Group: c.group, At: c.at, Cols: make([]metric.Column, len(c.group.Metrics))}
	c.live = slices.DeleteFunc(c.live, func(p *crowded) bool { return p.last })
	for _, p := range c.live {
		p.last = p.left == 0
		p.left--
		if p.skip--; c.partly && p.skip > 0 {
			continue
		}
		p.skip = c.rnd.IntN(6)
		if c.rnd.IntN(300) == 0 {
			p.call(c, len(p.Key))
		}
		b.Rows = append(b.Rows, &p.Instance)
		for k := range p.counters {
			if !p.idle && c.rnd.IntN(3) == 0 {
				p.counters[k] += uint64(c.rnd.ExpFloat64() * math.Pow(10, float64(c.rnd.IntN(5))))
			}
			shown := p.counters[k]
			if c.rnd.IntN(400) == 0 {
				shown -= shown / 10 // the kernel's jitter
			}
			b.Cols[k].Bits = append(b.Cols[k].Bits, shown)
		}
		if !p.idle {
			p.rss += uint64(c.rnd.IntN(1 << 22))
		}
		p.peak = max(p.peak, p.rss+uint64(c.rnd.IntN(1<<20)))
		b.Cols[4].Bits, b.Cols[5].Bits = append(b.Cols[4].Bits, p.rss), append(b.Cols[5].Bits, p.peak)
		for k := range b.Cols {
			why := metric.Present
			// The counters of one that has ended are told once more.
			if k >= 4 && p.last || k == 3 && c.rnd.IntN(50) == 0 {
				why = metric.Vanished
				b.Cols[k].Bits[len(b.Rows)-1] = 0
			}
			b.Cols[k].Miss = append(b.Cols[k].Miss, why)
		}
	}
	return &metric.Tick{Class: metric.Process, At: c.at, Blocks: []*metric.Block{b}}
}

// recordCrowd records so many ticks, in an archive and what is live after it.
func recordCrowd(t *testing.T, dir, host, boot string, c *crowd, ticks int, finish bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := proof.From(c.at)
		w, err := recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: host, Name: host}, BootID: boot, TimeZone: "UTC",
			Catalog: c.group.Metrics, Intervals: metric.Intervals{metric.Process: crowdInterval}, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for range ticks {
			tick := c.tick()
			clock.Until(tick.At)
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		if finish {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTotalsSayWhatTheValuesDo(t *testing.T) {
	for _, kind := range []struct {
		name                   string
		labels, partly, finish bool
	}{
		{"finished", true, false, true},
		{"live", true, false, false},
		{"without labels", false, false, true},
		{"read partly", true, true, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			dir := t.TempDir()
			c := newCrowd(5, kind.labels, kind.partly)
			from := c.at.Wall
			recordCrowd(t, dir, "h", "b", c, 700, kind.finish)
			recordCrowd(t, dir, "h", "b", c, 100, kind.finish) // the same boot goes on
			if kind.finish {
				recordCrowd(t, dir, "other", "b2", newCrowd(6, kind.labels, kind.partly), 500, true)
			}
			if found, err := mend.Verify(dir, nil); err != nil || len(found) > 0 {
				t.Fatal(found, err)
			}
			r, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rnd := rand.New(rand.NewPCG(1, 2))
			length := c.at.Wall - from
			for n := range proof.Pick(t, 3, 12) {
				w := query.Window{}
				if n > 0 {
					w.From = from + rnd.Int64N(length)
					w.To = w.From + rnd.Int64N(length)
				}
				compareTotals(t, r, w)
			}
		})
	}
}

func compareTotals(t *testing.T, r *store.Reader, w query.Window) {
	t.Helper()
	slow := undigested{struct{ query.Archive }{r}, r}
	for _, by := range []query.By{query.ByCPU, query.ByMemory, query.ByRead, query.ByFaults, query.ByRuns} {
		for _, group := range query.Groupings {
			for _, n := range []int{3, 20}[:proof.Pick(t, 1, 2)] {
				got, err := query.Top(r, w, by, group, n)
				want, wantErr := query.Top(slow, w, by, group, n)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatal(err, wantErr)
				}
				if err != nil {
					continue
				}
				if a, b := rankingText(got), rankingText(want); a != b {
					t.Fatalf("by %s, %s, %d of %d to %d:\n%s\nthe values say\n%s", by, group, n, w.From, w.To, a, b)
				}
			}
		}
	}
	got, err := query.TopNames(r, w, 8, query.ByCPU, query.ByMemory)
	want, wantErr := query.TopNames(slow, w, 8, query.ByCPU, query.ByMemory)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatal(err, wantErr)
	}
	for i := range got {
		if a, b := rankingText(got[i]), rankingText(want[i]); a != b {
			t.Fatalf("names of %d to %d:\n%s\nthe values say\n%s", w.From, w.To, a, b)
		}
	}
}

// rankingText is what a ranking tells, in which sums of floats may differ by their
// order.
func rankingText(r *query.Ranking) string {
	x := func(f float64) string { return fmt.Sprintf("%.9g", f) }
	s := fmt.Sprintf("%d to %d, %d, %s\n", r.From, r.To, r.N, x(r.Total))
	for _, c := range r.Consumers {
		s += fmt.Sprintf("%s %s %s %d %d %d %d %s %d", c.Archive.Host.ID, c.Name, c.Instance.Key, c.Count, c.Runs, c.From, c.To, c.User, c.Start)
		for _, f := range append(c.Gains[:], c.Mean, c.Peak, c.Resident, c.Virtual) {
			s += " " + x(f)
		}
		s += "\n"
	}
	return s
}
