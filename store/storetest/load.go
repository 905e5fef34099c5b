package storetest

import (
	"fmt"
	"math/rand/v2"

	"tachograph/sample/metric"
)

// A Load plays a machine of any size, to measure what a Writer costs: it keeps one tick per
// class and changes it in place, so that the measurement is of the Writer and not of the
// machine. A tenth of its processes is busy.
type Load struct {
	system, process metric.Tick
	procs           []loadProcess
	metrics         []*metric.Desc
	rnd             *rand.Rand
	born            int
	every           int
	second          int
}

type loadProcess struct{ busy, ends int }

// systemGroups is how many groups the system-wide metrics are spread over; on a real machine
// they come from as many sources.
const systemGroups = 25

// NewLoad returns a machine with that many processes of that many metrics each, read every that
// many seconds, and with system system-wide series, read every second.
func NewLoad(processes, metrics, every, system int) *Load {
	l := &Load{rnd: rand.New(rand.NewPCG(1, 2)), every: every}
	l.system.Class, l.process.Class = metric.Fast, metric.Process
	desc := func(name, indom string, class metric.Class) *metric.Desc {
		d := &metric.Desc{Name: name, Type: metric.U64, Sem: metric.Counter, Units: metric.Counts, Indom: indom, Class: class}
		l.metrics = append(l.metrics, d)
		return d
	}
	for g := range systemGroups {
		group := &metric.Group{Name: fmt.Sprintf("system%d", g)}
		for i := g; i < system; i += systemGroups {
			group.Metrics = append(group.Metrics, desc(fmt.Sprintf("system.m%d", i), metric.NoIndom, metric.Fast))
		}
		l.system.Blocks = append(l.system.Blocks, newBlock(group, 1))
		l.system.Blocks[g].Rows[0] = nil
	}
	group := &metric.Group{Name: "proc", Indom: "process"}
	for i := range metrics {
		group.Metrics = append(group.Metrics, desc(fmt.Sprintf("proc.m%d", i), "process", metric.Process))
	}
	l.process.Blocks = []*metric.Block{newBlock(group, processes)}
	l.procs = make([]loadProcess, processes)
	for i := range l.procs {
		l.birth(i)
		l.procs[i].ends += l.rnd.IntN(1 << 20)
	}
	return l
}

func newBlock(g *metric.Group, rows int) *metric.Block {
	b := &metric.Block{Group: g, Rows: make([]*metric.Instance, rows), Cols: make([]metric.Column, len(g.Metrics))}
	for c := range b.Cols {
		b.Cols[c].Bits = make([]uint64, rows)
	}
	return b
}

// Catalog describes all metrics.
func (l *Load) Catalog() []*metric.Desc { return l.metrics }

func (l *Load) birth(i int) {
	l.born++
	p := &l.procs[i]
	p.ends = l.second + 2 + l.rnd.IntN(60)
	if p.busy = 50; i%10 != 0 {
		p.busy = 1
	}
	b := l.process.Blocks[0]
	b.Rows[i] = &metric.Instance{ID: uint64(l.born), Key: fmt.Sprintf("%d/%d", 1000+l.born, l.second*100), Name: fmt.Sprintf("%06d worker", 1000+l.born),
		Labels: []metric.Label{{Name: "uid", Value: "0"}, {Name: "exe", Value: "/usr/bin/worker"}}}
	for c := range b.Cols {
		b.Cols[c].Bits[i] = l.rnd.Uint64() >> (30 + c%30)
	}
}

// Next returns the ticks of the next second. They are valid until the call after.
func (l *Load) Next() (at metric.Stamp, ticks []*metric.Tick) {
	at = MachineStart
	n := int64(l.second) * 1e9
	at.Wall, at.Awake, at.Cont = at.Wall+n, at.Awake+n, at.Cont+n
	l.system.At = at
	for g, b := range l.system.Blocks {
		b.At = at
		for c := range b.Cols {
			if (g+c)%2 == 0 {
				b.Cols[c].Bits[0] += uint64(l.rnd.IntN(1 << (c % 16)))
			}
		}
	}
	ticks = append(ticks, &l.system)
	if l.second%l.every == 0 {
		l.run(at)
		ticks = append(ticks, &l.process)
	}
	l.second++
	return at, ticks
}

// run advances the processes to at. One of them ends every few seconds.
func (l *Load) run(at metric.Stamp) {
	b := l.process.Blocks[0]
	l.process.At, b.At = at, at
	if i := l.rnd.IntN(len(l.procs)); l.second%3 == 0 {
		l.birth(i)
	}
	for i := range l.procs {
		if l.procs[i].ends <= l.second && l.procs[i].ends > 0 && i%40 == 7 {
			l.birth(i)
		}
		if l.rnd.IntN(100) >= l.procs[i].busy {
			continue
		}
		for c := i % 3; c < len(b.Cols); c += 3 {
			b.Cols[c].Bits[i] += uint64(l.rnd.IntN(1 << (c % 14)))
		}
	}
}
