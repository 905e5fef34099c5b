package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"tachograph/sample/metric"
)

// processMetrics are the metrics of a process, levels before counters.
var processMetrics = []string{"state", "num_threads", "vsize", "rss", "fds", "utime", "stime", "minflt", "majflt", "read_bytes", "write_bytes",
	"rchar", "wchar", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}

const processLevels = 5

// netMetrics are those of a process that uses the network.
var netMetrics = []string{"net_in", "net_out", "net_retrans", "net_opened", "net_accepted", "net_refused", "net_failed"}

// firstSecond is 2025-11-24 00:00:00 UTC.
const firstSecond = 1763942400e9

// inventor makes up a machine, second by second.
type inventor struct {
	*shape
	rnd    *rand.Rand
	blocks []*metric.Block
	procs  *metric.Block
	pace   []int // how much each process does
	ends   []int // the last second of each process
	born   int
	steady int // number of processes that live from the first second to the last
}

// invent makes up a machine, over a number of seconds that are played again and again. The same
// arguments give the same machine.
func invent(s *shape, o Options) *Machine {
	processes := o.Processes
	if processes == 0 {
		processes = s.processes
	}
	v := &inventor{shape: s, rnd: rand.New(rand.NewPCG(o.Seed, 2)), steady: processes * s.steady / 100}
	for _, g := range s.groups {
		v.blocks = append(v.blocks, v.group(g.name, g.metrics, g.others, g.rows))
	}
	metrics := processMetrics
	if o.Net {
		metrics = slices.Concat(metrics, netMetrics)
	}
	v.procs = v.group("process", metrics, 0, make([]string, processes))
	v.pace, v.ends = make([]int, processes), make([]int, processes)
	for i := range processes {
		v.birth(i, 0)
	}
	v.settle()
	k := newKeeper(false)
	up := int64(s.uptime) * 1e9
	start := metric.Stamp{Wall: firstSecond, Awake: up, Cont: up}
	for n := range o.Round {
		at := metric.Stamp{Wall: start.Wall + int64(n)*1e9, Awake: start.Awake + int64(n)*1e9, Cont: start.Cont + int64(n)*1e9}
		system, procs := v.second(at, n)
		if n%o.System == 0 {
			k.keep(system)
		}
		if n%o.Process == 0 {
			k.keep(procs)
		}
	}
	m := newMachine(k.recording())
	m.describe(o)
	m.Host.Name, m.calendar = s.host, s.calendar(o.Day)
	return m
}

func (v *inventor) group(name string, metrics []string, others int, rows []string) *metric.Block {
	g := &metric.Group{Name: name, Indom: name}
	class := metric.Fast
	if name == "process" {
		class = metric.Process
	}
	add := func(metricName string, sem metric.Semantics) {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: name + "." + metricName, Type: metric.U64, Sem: sem, Units: metric.Counts, Indom: name, Class: class})
	}
	for i, m := range metrics {
		sem := metric.Counter
		if name == "meminfo" || name == "filesystem" || name == "process" && i < processLevels {
			sem = metric.Instant
		}
		if name == "process" {
			m = "process." + m
		}
		add(m, sem)
	}
	for i := range others {
		sem := metric.Counter
		if i%3 == 0 || name == "loadavg" || name == "meminfo" {
			sem = metric.Instant
		}
		add(fmt.Sprintf("%s.other%d", name, i), sem)
	}
	b := &metric.Block{Group: g, Cols: make([]metric.Column, len(g.Metrics))}
	for i, row := range rows {
		b.Rows = append(b.Rows, &metric.Instance{ID: uint64(i + 1), Key: row, Name: row})
	}
	for c := range b.Cols {
		b.Cols[c].Bits = make([]uint64, len(rows))
		for i := range rows {
			b.Cols[c].Bits[i] = 1e5 + v.rnd.Uint64N(1e7)
		}
	}
	return b
}

// birth lets a new process take the place of another.
func (v *inventor) birth(i, n int) {
	v.born++
	b := v.procs
	p := person{command: commands[v.rnd.IntN(len(commands))]}
	pid, start := 1000+v.born, int64(n+v.uptime)*100
	if i < v.steady {
		p.command, v.ends[i] = commands[i%everRunning], 1<<30
		pid, start = 300+i, int64(100+i)
	} else {
		v.ends[i] = n + v.lasts(v.rnd)
	}
	if v.people != nil {
		p = v.people(v.rnd, i, i < v.steady)
	}
	if v.pace[i] = 1 + v.rnd.IntN(12); i%10 == 5 || i >= v.steady {
		v.pace[i] = 40 + v.rnd.IntN(60)
	}
	b.Rows[i] = &metric.Instance{ID: uint64(v.born), Key: fmt.Sprintf("%d/%d", pid, start), Name: fmt.Sprintf("%06d %s", pid, p.command)}
	if p.uid != "" {
		began := time.Unix(0, firstSecond+start*1e7-int64(v.uptime)*1e9).UTC().Format(time.RFC3339Nano)
		b.Rows[i].Labels = []metric.Label{{Name: "pid", Value: strconv.Itoa(pid)}, {Name: "start", Value: began}, {Name: "parent", Value: "1"}, {Name: "uid", Value: p.uid}}
	}
	for c := range b.Cols {
		b.Cols[c].Bits[i] = 0
	}
	b.Cols[0].Bits[i] = 'S'
	for c := 1; c < processLevels; c++ {
		b.Cols[c].Bits[i] = 1 + v.rnd.Uint64N(1<<(6*c%17))
	}
}

// settle lets time pass before the first second, until as many processes are young and old as
// at any later time.
func (v *inventor) settle() {
	for n := -v.before; n < 0; n++ {
		for i := v.steady; i < len(v.ends); i++ {
			if n == -v.before || v.ends[i] < n {
				v.birth(i, n)
			}
		}
	}
}

func (v *inventor) second(at metric.Stamp, n int) (system, procs *metric.Tick) {
	for g, b := range v.blocks {
		b.At = at
		for c, d := range b.Group.Metrics {
			for i := range b.Rows {
				kind := int(mix(uint64(g), uint64(c), uint64(i)) % 100)
				if c < len(v.groups[g].metrics) && i < 3 {
					kind = 78 + c // questions are about it
				}
				v.step(&b.Cols[c].Bits[i], d.Sem, kind)
			}
		}
	}
	for i := range v.ends {
		if v.ends[i] < n {
			v.birth(i, n)
		}
		v.live(i)
	}
	v.procs.At = at
	return &metric.Tick{Class: metric.Fast, At: at, Blocks: v.blocks}, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{v.procs}}
}

// step changes a value of the system: most are constant, others change steadily, and some by
// leaps.
func (v *inventor) step(value *uint64, sem metric.Semantics, kind int) {
	switch {
	case kind < 68:
	case kind < 78 && v.rnd.IntN(20) > 0:
	case sem == metric.Counter:
		*value += v.rnd.Uint64N(4 << (kind % 14))
	default:
		*value = max(1000, *value+v.rnd.Uint64N(201)-100)
	}
}

// live makes a process do something, or nothing.
func (v *inventor) live(i int) {
	cols := v.procs.Cols
	if v.rnd.IntN(400) >= v.pace[i] {
		cols[0].Bits[i] = 'S'
		return
	}
	if v.rnd.IntN(3) == 0 {
		cols[0].Bits[i] = 'R'
	}
	for c := processLevels + i%2; c < len(cols); c += 1 + v.rnd.IntN(3) {
		cols[c].Bits[i] += v.rnd.Uint64N(1 << (c % 9))
	}
	if v.rnd.IntN(10) == 0 {
		cols[3].Bits[i] += v.rnd.Uint64N(64)
	}
}
