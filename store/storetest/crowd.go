package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tachograph/sample/metric"
)

// A Crowd is a machine on which processes come and go.
type Crowd struct {
	rnd   *rand.Rand
	Group *metric.Group
	At    metric.Stamp
	pid   int
	live  []*crowded
	// labels: processes have labels; partly: some are read only now and then.
	labels, partly bool
}

type crowded struct {
	metric.Instance
	left, skip int
	counters   [4]uint64
	rss, peak  uint64
	idle, last bool
}

// CrowdInterval is how often a Crowd is read.
const CrowdInterval = 30 * time.Second

// NewCrowd returns a Crowd. Its processes have labels, or not, and either all are read at every
// tick, or some only now and then.
func NewCrowd(seed uint64, labels, partly bool) *Crowd {
	desc := func(name string, sem metric.Semantics, u metric.Units) *metric.Desc {
		return &metric.Desc{Name: name, Type: metric.U64, Sem: sem, Units: u, Indom: "process", Class: metric.Process, Falls: metric.NeverRestarts}
	}
	ms := metric.Milliseconds
	c := &Crowd{rnd: rand.New(rand.NewPCG(seed, 1)), labels: labels, partly: partly}
	c.At = metric.Stamp{Wall: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano(), Cont: 1e15, Awake: 1e15}
	c.Group = &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{
		desc("proc.psinfo.utime", metric.Counter, ms), desc("proc.psinfo.stime", metric.Counter, ms),
		desc("proc.psinfo.minflt", metric.Counter, metric.Counts), desc("proc.io.read_bytes", metric.Counter, metric.Bytes),
		desc("proc.memory.rss", metric.Instant, metric.Bytes), desc("proc.memory.vmhwm", metric.Instant, metric.Bytes),
	}}
	return c
}

func (c *Crowd) birth() {
	c.pid++
	p := &crowded{left: 1 + c.rnd.IntN(3), idle: c.rnd.IntN(4) == 0}
	switch c.rnd.IntN(12) {
	case 0:
		p.left = 1 << 20
	case 1, 2:
		p.left = 20 + c.rnd.IntN(400)
	}
	p.ID = uint64(c.pid)
	p.Key = fmt.Sprintf("%d/%d", c.pid%997, c.At.Cont/1e7)
	p.call(c, c.pid%997)
	p.rss = uint64(c.rnd.IntN(1 << 30))
	for k := range p.counters {
		p.counters[k] = uint64(c.rnd.ExpFloat64() * 1000)
	}
	if c.labels {
		p.Labels = append(p.Labels, metric.Label{Name: "start", Value: time.Unix(0, c.At.Wall-int64(c.rnd.IntN(25e9))).UTC().Format(time.RFC3339Nano)})
		p.Labels = append(p.Labels, metric.Label{Name: "uid", Value: fmt.Sprint(c.rnd.IntN(3))})
		p.move(c)
	}
	c.live = append(c.live, p)
}

func (p *crowded) call(c *Crowd, pid int) {
	name := fmt.Sprintf("program%d", int(c.rnd.ExpFloat64()*4))
	p.Name = fmt.Sprintf("%06d %s", pid, name)
	p.Rev++
}

// move gives a process that has labels other owners: none, one or two.
func (p *crowded) move(c *Crowd) {
	if !c.labels {
		return
	}
	labels := slices.Clone(p.Labels[:2]) // An instance's labels do not change: other owners are other labels.
	for i, kind := range metric.OwnerKinds {
		if c.rnd.IntN(4+i) == 0 {
			labels = append(labels, metric.Label{Name: kind, Value: fmt.Sprint("owner ", c.rnd.IntN(4))})
		}
	}
	p.Labels = labels
}

// Tick returns the next reading.
func (c *Crowd) Tick() *metric.Tick {
	every := int64(CrowdInterval)
	if c.rnd.IntN(150) == 0 {
		every *= 1 + int64(c.rnd.IntN(12)) // nothing was recorded for a while
	}
	c.At.Wall, c.At.Cont, c.At.Awake = c.At.Wall+every, c.At.Cont+every, c.At.Awake+every
	for range c.rnd.IntN(8) {
		c.birth()
	}
	b := &metric.Block{Group: c.Group, At: c.At, Cols: make([]metric.Column, len(c.Group.Metrics))}
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
			p.move(c)
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
			// The last counters of a process that has ended are read once more.
			if k >= 4 && p.last || k == 3 && c.rnd.IntN(50) == 0 {
				why = metric.Vanished
				b.Cols[k].Bits[len(b.Rows)-1] = 0
			}
			b.Cols[k].Miss = append(b.Cols[k].Miss, why)
		}
	}
	return &metric.Tick{Class: metric.Process, At: c.At, Blocks: []*metric.Block{b}}
}
