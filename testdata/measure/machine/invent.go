package machine

import (
	"fmt"
	"math/rand/v2"

	"tachograph/sample/metric"
)

// invented are the groups of a made-up machine: how many metrics each has besides those that
// questions are about, and its rows.
var invented = []struct {
	name    string
	others  int
	rows    []string
	metrics []string // those that questions are about
}{
	{"cpu", 3, []string{"cpu", "cpu0", "cpu1"}, []string{"cpu.user", "cpu.nice", "cpu.system", "cpu.idle", "cpu.iowait"}},
	{"stat", 3, []string{""}, []string{"stat.processes", "stat.ctxt", "stat.intr"}},
	{"loadavg", 5, []string{""}, nil},
	{"meminfo", 51, []string{""}, []string{"meminfo.MemTotal", "meminfo.MemFree", "meminfo.MemAvailable"}},
	{"vmstat", 192, []string{""}, nil},
	{"netstat", 311, []string{""}, nil},
	{"disk", 14, []string{"vda", "loop0", "loop1", "loop2", "loop3", "loop4", "loop5", "loop6", "loop7", "zram0"}, []string{"disk.sectors_read", "disk.sectors_written", "disk.ms_io"}},
	{"net", 14, []string{"lo", "eth0", "ifb0", "ifb1"}, []string{"net.rx_bytes", "net.tx_bytes"}},
	{"filesystem", 3, []string{"/", "/dev", "/dev/shm", "/sys/fs/cgroup"}, []string{"fs.bavail", "fs.bfree"}},
	{"pressure", 4, []string{"cpu some", "cpu full", "io some", "io full", "memory some", "memory full"}, nil},
}

// processMetrics are the metrics of a process, levels before counters.
var processMetrics = []string{"state", "num_threads", "vsize", "rss", "fds", "utime", "stime", "minflt", "majflt", "read_bytes", "write_bytes",
	"rchar", "wchar", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}

const processLevels = 5

// commands are names of processes; the first of them run all the time.
var commands = []string{"systemd", "sshd", "postgres", "redis-server", "nginx", "node", "python3", "perl", "bash", "sleep", "tail", "kworker/0:1",
	"rcu_sched", "dockerd", "cc1", "ld", "go", "compile", "git", "make", "cat", "ls", "date", "awk", "gzip", "pgbench"}

const everRunning = 14

// inventor makes up the machine, second by second.
type inventor struct {
	rnd     *rand.Rand
	blocks  []*metric.Block
	procs   *metric.Block
	pace    []int // how much each process does
	ends    []int // the last second of each process
	born    int
	seconds int
	steady  int // number of processes that live from the first second to the last
}

// Invent makes up a machine with a number of processes, read at an interval in seconds, and some
// 870 series of the system, over a number of seconds that are played again and again. The same
// arguments give the same machine.
func Invent(seed uint64, processes, every, seconds int) *Machine {
	v := &inventor{rnd: rand.New(rand.NewPCG(seed, 2)), seconds: seconds, steady: processes * 9 / 10}
	for _, g := range invented {
		v.blocks = append(v.blocks, v.group(g.name, g.metrics, g.others, g.rows))
	}
	v.procs = v.group("process", processMetrics, 0, make([]string, processes))
	v.pace, v.ends = make([]int, processes), make([]int, processes)
	for i := range processes {
		v.birth(i, 0)
	}
	k := newKeeper(false)
	const day = 86400e9
	start := metric.Stamp{Wall: 1763942400e9, Awake: day, Cont: day} // 2025-11-24 00:00:00 UTC
	for n := range seconds {
		at := metric.Stamp{Wall: start.Wall + int64(n)*1e9, Awake: start.Awake + int64(n)*1e9, Cont: start.Cont + int64(n)*1e9}
		k.keep(v.second(at, n, every))
	}
	return newMachine(k.recording())
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

func (v *inventor) birth(i, n int) {
	v.born++
	b := v.procs
	command := commands[v.rnd.IntN(len(commands))]
	pid, start := 1000+v.born, int64(n+86400)*100
	switch {
	case i < v.steady:
		command, v.ends[i] = commands[i%everRunning], 1<<30
		pid, start = 300+i, int64(100+i)
	case v.rnd.IntN(3) > 0:
		v.ends[i] = n + 1 + v.rnd.IntN(30)
	default:
		v.ends[i] = n + 30 + v.rnd.IntN(300)
	}
	if v.pace[i] = 1 + v.rnd.IntN(12); i%10 == 5 || i >= v.steady {
		v.pace[i] = 40 + v.rnd.IntN(60)
	}
	b.Rows[i] = &metric.Instance{ID: uint64(v.born), Key: fmt.Sprintf("%d/%d", pid, start), Name: fmt.Sprintf("%06d %s", pid, command)}
	for c := range b.Cols {
		b.Cols[c].Bits[i] = 0
	}
	b.Cols[0].Bits[i] = 'S'
	for c := 1; c < processLevels; c++ {
		b.Cols[c].Bits[i] = 1 + v.rnd.Uint64N(1<<(6*c%17))
	}
}

func (v *inventor) second(at metric.Stamp, n, every int) []*metric.Tick {
	system := &metric.Tick{Class: metric.Fast, At: at, Blocks: v.blocks}
	for g, b := range v.blocks {
		b.At = at
		for c, d := range b.Group.Metrics {
			for i := range b.Rows {
				kind := int(mix(uint64(g), uint64(c), uint64(i)) % 100)
				if c < len(invented[g].metrics) && i < 3 {
					kind = 78 + c // questions are about it
				}
				v.step(&b.Cols[c].Bits[i], d.Sem, kind)
			}
		}
	}
	ticks := []*metric.Tick{system}
	for i := range v.ends {
		if v.ends[i] < n {
			v.birth(i, n)
		}
		v.live(i)
	}
	if n%every == 0 {
		v.procs.At = at
		ticks = append(ticks, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{v.procs}})
	}
	return ticks
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
