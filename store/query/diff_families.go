package query

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// families are the parts of a machine whose metrics move together. The first with a fitting
// prefix decides; leads are the metrics that describe the family best.
var families = []struct {
	name     string
	prefixes []string
	leads    []string
}{
	{"recorder", []string{"recorder.", "process.", "proc.control", "pmda.", "reduced."}, nil},
	{"stopped", []string{"proc.runq.stopped"}, nil},
	{"dead", []string{"proc.runq.defunct"}, nil},
	{"stolen", []string{"kernel.all.cpu.steal", "kernel.percpu.cpu.steal"}, []string{"kernel.all.cpu.steal"}},
	{"clock rate", []string{"hinv.cpu.clock"}, nil},
	{"interrupts", []string{"kernel.all.intr", "kernel.all.softirqs", "kernel.all.cpu.irq", "kernel.percpu.cpu.irq"},
		[]string{"kernel.all.intr", "kernel.all.softirqs.total"}},
	{"latency", []string{awaitMetric}, nil},
	{"disk", []string{"disk.", "kernel.all.pressure.io", "kernel.all.cpu.wait", "kernel.percpu.cpu.wait", "kernel.all.blocked", "proc.runq.blocked"},
		[]string{"disk.all.write_bytes", "disk.all.read_bytes", "disk.all.total_bytes", "disk.all.write", "disk.all.read"}},
	{"cpu", []string{"kernel.all.cpu", "kernel.percpu", "kernel.all.load", "kernel.all.run", "kernel.all.pressure.cpu", "kernel.all.idletime",
		"kernel.all.pswitch", "proc.runq", "hinv.cpu", "cgroup.cpu"},
		[]string{"kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.load", "kernel.all.pswitch"}},
	{"memory", []string{"mem.", "swap.", "vm.", "kernel.all.pressure.memory", "kern.memorystatus", "computed.mem", "computed.comp", "computed.swap", "cgroup.memory"},
		[]string{"mem.util.available", "swap.used", "mem.util.used", "mem.util.free", "mem.util.compressed"}},
	{"volume", []string{"filesys."}, []string{"filesys.full", "filesys.used", "filesys.avail"}},
	{"files", []string{"vfs."}, []string{"vfs.files.count"}},
	{"connections", []string{"network.tcpconn", "network.tcp.currestab", "network.tcp.activeopens", "network.tcp.passiveopens", "network.tcp.attemptfails",
		"network.tcp.listen", "network.sockstat", "computed.total_conn"},
		[]string{"network.tcp.listenoverflows", "network.tcp.attemptfails"}},
	{"link", []string{"network.interface.running", "network.interface.up"}, []string{"network.interface.running"}},
	{"network", []string{"network.", "net.", "ipc."},
		[]string{"network.tcp.retranssegs", "network.all.in.bytes", "network.all.out.bytes", "network.all.total.bytes"}},
	{"processes", []string{"kernel.all.nprocs", "kernel.all.nthreads", "kernel.all.sysfork", "proc.nprocs", "proc.started", "proc.exited", "proc.unseen", "cgroup.tasks"},
		[]string{"proc.nprocs", "proc.started", "kernel.all.sysfork"}},
	{"gpu", []string{"gpu."}, []string{"gpu.util"}},
	{"thermal", []string{"thermal."}, []string{"thermal.cpu.die", "thermal.package", "thermal.pressure.level"}},
	{"power", []string{"power."}, []string{"power.ac.connected", "power.battery.charge"}},
	{"clock", []string{"kernel.all.uptime", "kern.wake", "kern.sleep", "kern.useractive", "kern.userinactive", "machdep.", "kern.monotonic", "computed.uptime", "kernel.all.boottime",
		"kernel.all.lastpid"}, nil},
}

// familyOf returns a metric's part of the machine and how well the metric describes it, 0 best.
func familyOf(name string) (string, int) {
	for _, f := range families {
		for _, p := range f.prefixes {
			if strings.HasPrefix(name, p) {
				i := slices.Index(f.leads, name)
				if i < 0 {
					i = len(f.leads)
				}
				return f.name, i
			}
		}
	}
	parts := strings.SplitN(name, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], "."), 0
}

// amounts are about as much of something as a machine can do, or should ever see: so many a
// second, or at a time. The first with a fitting prefix or ending decides; a difference of less
// than leastAmount of it is not worth a line.
var amounts = []struct {
	prefix, ending string
	most           float64
}{
	{"kernel.all.pswitch", "", 2e5},
	{"kernel.all.intr", "", 2e5},
	{"kernel.all.softirqs", "", 2e5},
	{"kernel.all.sysfork", "", 400},
	{"proc.started", "", 400},
	{"proc.exited", "", 400},
	{"proc.unseen", "", 400},
	{"proc.nprocs", "", 2e3},
	{"kernel.all.nprocs", "", 2e3},
	{"kernel.all.nthreads", "", 5e3},
	{"kernel.all.nptys", "", 50},
	{"kernel.all.nusers", "", 50},
	{"kernel.all.nroots", "", 50},
	{"kernel.all.nsessions", "", 50},
	{"proc.runq.stopped", "", 4},
	{"proc.runq.defunct", "", 300},
	{"proc.runq.blocked", "", 10},
	{"kernel.all.blocked", "", 10},
	{"vfs.files.count", "", 1e4},
	{"vfs.", "", 1e7},
	{"mem.vmstat.oom_kill", "", 0.02},
	{"mem.vmstat.pswp", "", 2e4},
	{"swap.", "", 2e4},
	{"mem.vmstat.pgmajfault", "", 5e3},
	{"mem.pages.faults", "", 2e5},
	{"mem.vmstat.pgscan", "", 5e5},
	{"mem.vmstat.pgsteal", "", 5e5},
	{"mem.vmstat.workingset", "", 5e5},
	{"mem.", "", 1e6},
	{"vm.", "", 1e6},
	{"disk.", ".blkread", 5e5},
	{"disk.", ".blkwrite", 5e5},
	{"disk.", ".blktotal", 5e5},
	{"disk.", ".blkdiscard", 5e6},
	{"disk.", "_merge", 2e4},
	{"disk.", "errors", 1},
	{"disk.", ".flush", 2e3},
	{"disk.", "inflight", 64},
	{"disk.", "", 5e3},
	{"network.tcp.listen", "", 100},
	{"network.tcp.retrans", "", 50},
	{"network.tcp.attemptfails", "", 1e3},
	{"network.tcpconn", "", 2e3},
	{"network.tcp.currestab", "", 2e3},
	{"network.sockstat", "", 2e3},
	{"network.tcp.", "opens", 1e4},
	{"network.", "drops", 300},
	{"network.", "errors", 300},
	{"network.softnet.dropped", "", 300},
	{"network.udp", "datagrams", 1e4},
	{"network.", "", 1e5},
}

// leastAmount is the part of what a machine can do that is worth a line.
const leastAmount = 0.08

// amountOf returns about how much a machine can do of what a metric counts.
func amountOf(name string) (most float64, known bool) {
	for _, a := range amounts {
		if strings.HasPrefix(name, a.prefix) && strings.HasSuffix(name, a.ending) {
			return a.most, true
		}
	}
	return 0, false
}

// beside are levels of memory that rise with whatever is read from disks and fall with whatever
// needs the room: where the system reports how much memory is available, they add nothing.
var beside = []string{"mem.util.used", "mem.util.free", "mem.util.cached", "mem.util.bufmem", "mem.util.cache_clean", "mem.util.active", "mem.util.inactive",
	"mem.util.active_file", "mem.util.inactive_file", "mem.util.active_anon", "mem.util.inactive_anon", "mem.util.mapped", "mem.util.filebacked",
	"mem.util.committed_AS", "mem.util.dirty", "mem.util.writeback", "mem.util.other", "mem.util.shared", "mem.util.kreclaimable",
	"mem.active", "mem.inactive", "mem.freemem", "mem.vmstat.", "mem.pages."}

// pressureMeans are means of values that the system also counts: the means show the same, only
// later.
const pressureMeans = "kernel.all.pressure."

// said reports whether a metric only shows what another recorded metric shows better.
func (d *differ) said(m *metric.Desc) bool {
	name := m.Name
	if total, ok := strings.CutSuffix(name, ".avg"); ok && strings.HasPrefix(name, pressureMeans) {
		return d.a.Lookup(total+".total") != nil
	}
	if strings.HasSuffix(name, ".cpu.idle") || name == "kernel.all.idletime" {
		return d.a.Lookup("kernel.all.cpu.user") != nil
	}
	if m.Sem == metric.Counter || d.a.Lookup("mem.util.available") == nil {
		return false
	}
	return slices.ContainsFunc(beside, func(p string) bool {
		return name == p || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p)
	})
}

// lags reports whether an instance is a mean over a longer time than a part of the window: such a
// mean has hardly begun to move when the window ends, and varies less within windows than from
// one to the next.
func (d *differ) lags(name, instance string) bool {
	if !strings.HasPrefix(name, "kernel.all.load") && !strings.HasPrefix(name, pressureMeans) {
		return false
	}
	number, unit, ok := strings.Cut(instance, " ")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return false
	}
	over := time.Duration(n) * time.Second
	if strings.HasPrefix(unit, "minute") {
		over = time.Duration(n) * time.Minute
	}
	return int64(over) > (d.r.B.To-d.r.B.From)/slots
}

// impact returns how much of the machine a difference makes up, where the machine's size is
// known, else how large it is compared with the series itself.
func (d *differ) impact(s *systemSeries, ma, mb float64) float64 {
	diff := math.Abs(mb - ma)
	family, _ := familyOf(s.desc.Name)
	amount, counted := amountOf(s.desc.Name)
	switch {
	case family == "latency":
		return min(0.6*relative(ma, mb), decades(1+diff)/4) // milliseconds
	case family == "clock rate" || family == "link":
		return 0.5 * relative(ma, mb)
	case s.rate && s.desc.Units.Time == 1 && strings.HasPrefix(s.desc.Name, pressureMeans):
		return min(diff, 1) / 4
	case s.rate && s.desc.Units.Time == 1 && (family == "cpu" || family == "interrupts" || family == "stolen"):
		if s.desc.Indom != metric.NoIndom {
			return min(diff/d.cores, 1) / 2
		}
		return min(diff/d.cores, 1)
	case family == "cpu" && strings.HasPrefix(s.desc.Name, "kernel.all.load"):
		return min(diff/d.cores/2, 1)
	case s.rate && s.desc.Units.Time == 1:
		return min(diff, 1) / 2
	case family == "memory" && s.units.Space == 1 && s.units.Time == 0 && d.memory > 0:
		if math.Max(ma, mb)*base(s.units) > 2*d.memory {
			return 0.05 * relative(ma, mb) // Addresses or commitments, not installed memory.
		}
		return min(diff*base(s.units)/d.memory, 1)
	case s.desc.Name == "filesys.full":
		if mb >= 95 && ma < mb {
			return max(0.6, diff/100)
		}
		return min(diff/100, 1)
	case family == "volume":
		return 0.3 * relative(ma, mb)
	case s.units.Space == 1 && s.units.Time == -1:
		// A megabyte a second is worth mentioning, a hundred are a lot.
		return min(decades(1+diff*base(metric.Units{Space: 1, SpaceScale: s.units.SpaceScale})/1e5)/3, 1) * relative(ma, mb)
	case s.units.Other == "C":
		return min(diff/60, 1)
	case counted && s.units.Space == 0:
		if diff < leastAmount*amount {
			return 0
		}
		return min(diff/amount, 1)
	case s.units.Count == 1 && s.units.Time == -1 || s.rate:
		// Rates of small things matter when there are thousands.
		return min(decades(1+diff/20)/5, 0.5) * relative(ma, mb)
	}
	return 0.05 * relative(ma, mb)
}
