package why

import (
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
)

// signal is a number of the machine that shows that something is wrong: an expression in names
// that both platforms share, and the values from which on it does.
type signal struct {
	name  string
	topic string   // the part of the machine that it is about
	exprs []string // the first that the archive can compute
	units metric.Units
	rate  bool
	// From least on it is worth a line, from severe on it cannot be worse.
	least, severe float64
	// weight is how bad the worst value is; 0 if another detector judges the signal.
	weight float64
	// harm is like weight, for signals that another detector judges: it serves to find the worst
	// of a recording, and the calm stretch.
	harm float64
	// absolute says that it is bad by itself, whatever it was before.
	absolute bool
	// says is the sentence, with %s for the value; brief is the same after a cause.
	says, brief string
	// explains says that the signal is a cause without a name, and which topics it may be the
	// cause of.
	explains []string
	// show is the command that shows more, without the window.
	show []string
}

// scale returns the factor that converts a value in some units to the signal's units.
func (s *signal) scale(u metric.Units) float64 {
	if s.rate && s.units == metric.NoUnits && u == metric.Percent {
		return 0.01
	}
	if f, err := u.Factor(s.units); err == nil {
		return f
	}
	return 1
}

// write writes a value; rates per second have no unit, as the sentences say "a second".
func (s *signal) write(x float64) string {
	switch {
	case s.units == metric.PerSecond:
		return human.Count(roundTo(x))
	case s.units == metric.NoUnits && s.rate:
		return human.Percent(min(x, max(s.severe, 1)))
	}
	return human.Value(x, s.units, s.rate)
}

var bytesPerSecond = metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}

// signals are the signals, by topic. Shares are fractions of 1. They are read in this order; a
// signal that no cause explains is ranked by its weight.
var signals = []signal{
	{name: "cpu", topic: "cpu", rate: true, least: 0.6, severe: 1, weight: 0.4, exprs: []string{
		"(rate(kernel.all.cpu.user) + rate(kernel.all.cpu.sys) + rate(kernel.all.cpu.nice)) / hinv.ncpu"},
		says: "the processors were %s busy", brief: "processors %s busy", show: []string{"top"}},
	{name: "cpu.system", topic: "cpu", rate: true, least: 0.25, severe: 0.8, weight: 0.5, exprs: []string{"rate(kernel.all.cpu.sys) / hinv.ncpu"},
		says: "the kernel itself took %s of the processors", brief: "the kernel took %s of the processors", show: []string{"rates", "kernel.all.cpu"}},
	{name: "cpu.steal", topic: "steal", rate: true, least: 0.08, severe: 0.5, weight: 0.8, exprs: []string{"rate(kernel.all.cpu.steal) / hinv.ncpu"},
		says: "the host of this virtual machine gave away %s of its processor time", show: []string{"rates", "kernel.all.cpu.steal"}},
	{name: "cpu.interrupts", topic: "cpu", rate: true, least: 0.07, severe: 0.7, weight: 0.5, exprs: []string{
		"(rate(kernel.all.cpu.irq.soft) + rate(kernel.all.cpu.irq.hard)) / hinv.ncpu"},
		says: "interrupts took %s of the processors", brief: "interrupts took %s of the processors", show: []string{"rates", "kernel.all.cpu.irq"}},
	{name: "load", topic: "load", least: 3, severe: 30, weight: 0.45, exprs: []string{"max(kernel.all.load[/^1( minute)?$/]) / hinv.ncpu"},
		says: "the load was %s for each processor", brief: "load %s for each processor", show: []string{"rates", "kernel.all.load"}},
	{name: "switches", topic: "cpu", units: metric.PerSecond, rate: true, least: 50000, severe: 1e6, weight: 0.35, exprs: []string{"rate(kernel.all.pswitch)"},
		says: "the processors switched between threads %s times a second", brief: "%s context switches a second", show: []string{"rates", "kernel.all.pswitch"}},

	{name: "quota", absolute: true, rate: true, least: quotaLeast, severe: 1, exprs: []string{"rate(cgroup.cpusched.throttled) / rate(cgroup.cpusched.periods)"}},

	{name: "memory.used", topic: "memory", rate: true, least: 0.85, severe: 0.99, weight: 0.6, exprs: []string{
		"1 - mem.util.available / mem.physmem", "(mem.util.wired + mem.util.active + mem.util.compressed) / mem.physmem"},
		says: "%s of all memory was in use", brief: "memory %s full", show: []string{"rates", "mem.util.available"}},
	{name: "memory.stall", topic: "memory", rate: true, least: 0.05, severe: 0.6, weight: 0.8, exprs: []string{"rate(kernel.all.pressure.memory.some.total)"},
		says: "processes stalled for memory %s of the time", brief: "stalls for memory %s of the time", show: []string{"rates", "kernel.all.pressure.memory"}},
	{name: "memory.level", topic: "memory", absolute: true, least: 1.5, severe: 4, weight: 0.8, exprs: []string{"kern.memorystatus_vm_pressure_level"},
		says: "memory was short: pressure level %s of 4", brief: "memory pressure level %s of 4", show: []string{"values", "kern.memorystatus_vm_pressure_level"}},
	{name: "memory.compressed", topic: "memory", rate: true, least: 0.25, severe: 0.6, weight: 0.5, exprs: []string{"mem.util.compressed / mem.physmem"},
		says: "compressed pages held %s of all memory", brief: "%s of memory compressed", show: []string{"rates", "mem.util.compressed"}},
	{name: "memory.slab", topic: "slab", rate: true, least: 0.1, severe: 0.6, weight: 0.6, exprs: []string{"mem.util.slabUnreclaimable / mem.physmem"},
		says: "the kernel's own objects held %s of all memory", explains: []string{"memory", "swap"}, show: []string{"rates", "mem.util.slabUnreclaimable"}},
	{name: "faults", topic: "memory", units: metric.PerSecond, rate: true, least: 300, severe: 10000, weight: 0.6, exprs: []string{"rate(mem.vmstat.pgmajfault)"},
		says: "programs waited for %s pages a second from disk", brief: "%s pages a second fetched from disk", show: []string{"rates", "mem.vmstat.pgmajfault"}},
	{name: "swap.in", topic: "swap", units: metric.PerSecond, rate: true, least: 100, severe: 8000, weight: 0.8, exprs: []string{"rate(swap.pagesin)"},
		says: "the machine swapped: %s pages a second came back in", brief: "swapping in %s pages a second", show: []string{"rates", "swap"}},
	{name: "swap.out", topic: "swap", units: metric.PerSecond, rate: true, least: 100, severe: 8000, weight: 0.78, exprs: []string{"rate(swap.pagesout)"},
		says: "the machine swapped: %s pages a second went out", brief: "swapping out %s pages a second", show: []string{"rates", "swap"}},
	{name: "swap.full", topic: "swap", rate: true, least: 0.7, severe: 1, weight: 0.6, exprs: []string{"swap.used / swap.length"},
		says: "%s of the swap space was in use", brief: "swap %s full", show: []string{"rates", "swap.used"}},

	{name: "io.stall", topic: "disk", rate: true, least: 0.2, severe: 0.9, weight: 0.55, exprs: []string{"rate(kernel.all.pressure.io.some.total)"},
		says: "processes stalled for disks %s of the time", brief: "stalls for disks %s of the time", show: []string{"rates", "kernel.all.pressure.io"}},
	{name: "io.wait", topic: "disk", rate: true, least: 0.15, severe: 0.8, weight: 0.5, exprs: []string{"rate(kernel.all.cpu.wait.total) / hinv.ncpu"},
		says: "the processors waited for disks %s of the time", brief: "processors waiting for disks %s", show: []string{"rates", "kernel.all.cpu.wait.total"}},
	{name: "blocked", topic: "disk", least: 1.5, severe: 20, weight: 0.6, exprs: []string{"kernel.all.blocked", "proc.runq.blocked"},
		says: "%s processes could not go on, waiting in the kernel", brief: "%s processes waiting in the kernel", show: []string{"rates", "kernel.all.blocked"}},
	{name: "disk.busy", rate: true, least: 0.6, severe: 1, harm: 0.3, exprs: []string{"rate(disk.dev.avactive)"}},
	{name: "disk.done", units: metric.PerSecond, rate: true, exprs: []string{"rate(disk.dev.total)"}},
	{name: "disk.flight", exprs: []string{"disk.dev.inflight"}},
	{name: "disk.time", rate: true, exprs: []string{"rate(disk.dev.total_rawactive)", "rate(disk.dev.total_time)"}},
	{name: "disk.bytes", units: bytesPerSecond, rate: true, exprs: []string{"rate(disk.dev.total_bytes)"}},
	{name: "disk.flush", units: metric.PerSecond, rate: true, exprs: []string{"rate(disk.dev.flush)"}},
	{name: "disk.errors", topic: "disk", units: metric.PerSecond, rate: true, least: 0.02, severe: 5, weight: 0.85, exprs: []string{
		"rate(disk.all.read_errors) + rate(disk.all.write_errors)"}, says: "disks failed %s requests a second", show: []string{"rates", "disk.dev.read_errors", "disk.dev.write_errors"}},

	{name: "volume", rate: true, least: 0.95, severe: 1, harm: 0.5, exprs: []string{"filesys.full", "filesys.used / filesys.capacity", "1 - filesys.avail / filesys.blocks"}},
	{name: "volume.files", rate: true, exprs: []string{"filesys.usedfiles / filesys.maxfiles"}},
	{name: "net.link", exprs: []string{"network.interface.running"}},
	{name: "births", units: metric.PerSecond, rate: true, least: birthsLeast, severe: birthsSevere, harm: 0.6, exprs: []string{"rate(proc.started)", "rate(kernel.all.sysfork)"}},
	{name: "processes", topic: "processes", least: 1500, severe: 20000, weight: 0.5, exprs: []string{"proc.nprocs", "kernel.all.nprocs"},
		says: "there were %s processes", brief: "%s processes at once", show: []string{"rates", "proc.nprocs"}},
	{name: "threads", topic: "processes", least: 4000, severe: 50000, weight: 0.5, exprs: []string{"kernel.all.nthreads"},
		says: "there were %s threads", brief: "%s threads at once", show: []string{"rates", "kernel.all.nthreads"}},
	{name: "zombies", topic: "zombies", absolute: true, least: 30, severe: 1000, weight: 0.65, exprs: []string{"proc.runq.defunct"},
		says: "%s processes had ended and nobody took note of it (zombies)", show: []string{"rates", "proc.runq.defunct"}},
	{name: "stuck", absolute: true, least: 0.5, severe: 3, harm: 0.2, exprs: []string{"proc.runq.blocked"}},
	{name: "stopped", absolute: true, least: 0.5, severe: 3, harm: 0.2, exprs: []string{"proc.runq.stopped"}},
	{name: "files", topic: "files", absolute: true, rate: true, least: 0.7, severe: 1, weight: 0.8, exprs: []string{"vfs.files.count / vfs.files.max"},
		says: "%s of all files that may be open were", brief: "open files at %s of the limit", show: []string{"rates", "vfs.files.count"}},
	{name: "vnodes", topic: "files", rate: true, least: 0.97, severe: 1, weight: 0.3, exprs: []string{"vfs.vnodes.count / vfs.vnodes.max"},
		says: "%s of all vnodes were in use", brief: "vnodes at %s of the limit", show: []string{"rates", "vfs.vnodes.count"}},
	{name: "conntrack", topic: "network", absolute: true, rate: true, least: 0.7, severe: 1, weight: 0.85, exprs: []string{
		"net.netfilter.nf_conntrack_count / net.netfilter.nf_conntrack_max"},
		says: "the table of connections (conntrack) was %s full", brief: "conntrack %s full", show: []string{"rates", "net.netfilter.nf_conntrack_count"}},

	{name: "net.in", units: metric.PerSecond, rate: true, least: 2500, severe: 150000, harm: 0.5, exprs: []string{"rate(network.interface.in.packets)"}},
	{name: "net.out", units: metric.PerSecond, rate: true, least: 2500, severe: 150000, harm: 0.4, exprs: []string{"rate(network.interface.out.packets)"}},
	{name: "net.in.bytes", units: bytesPerSecond, rate: true, exprs: []string{"rate(network.interface.in.bytes)"}},
	{name: "net.out.bytes", units: bytesPerSecond, rate: true, exprs: []string{"rate(network.interface.out.bytes)"}},
	{name: "traffic.in", units: bytesPerSecond, rate: true, least: trafficLeast, severe: trafficSevere, harm: 0.25, exprs: []string{"rate(network.traffic.in_bytes)"}},
	{name: "traffic.out", units: bytesPerSecond, rate: true, least: trafficLeast, severe: trafficSevere, harm: 0.25, exprs: []string{"rate(network.traffic.out_bytes)"}},
	{name: "net.drops", units: metric.PerSecond, rate: true, least: 5, severe: 2000, harm: 0.4, exprs: []string{
		"rate(network.interface.in.drops) + rate(network.interface.out.drops)"}},
	{name: "net.errors", units: metric.PerSecond, rate: true, exprs: []string{
		"rate(network.interface.in.errors) + rate(network.interface.out.errors)"}},
	{name: "tcp.resent", topic: "tcp", rate: true, least: 0.012, severe: 0.3, weight: 0.65, exprs: []string{
		"rate(network.tcp.retranssegs) / (rate(network.tcp.outsegs) + 20)"},
		says: "%s of what TCP sent had to be sent again", brief: "%s of TCP sent again", show: []string{"rates", "network.tcp.retranssegs"}},
	{name: "tcp.refused", topic: "tcp", units: metric.PerSecond, rate: true, least: 1, severe: 500, weight: 0.75, exprs: []string{"rate(network.tcp.listendrops)"},
		says: "%s connections a second were dropped because nobody accepted them", brief: "%s connections dropped a second", show: []string{"rates", "network.tcp.listendrops"}},
	{name: "tcp.failed", topic: "tcp", units: metric.PerSecond, rate: true, least: 20, severe: 2000, weight: 0.6, exprs: []string{"rate(network.tcp.attemptfails)"},
		says: "%s attempts to connect a second failed", brief: "%s failed connections a second", show: []string{"rates", "network.tcp.attemptfails"}},
	{name: "tcp.opened", topic: "tcp", units: metric.PerSecond, rate: true, least: 200, severe: 10000, weight: 0.6, exprs: []string{
		"rate(network.tcp.passiveopens) + rate(network.tcp.activeopens)"},
		says: "%s TCP connections a second were opened", brief: "%s TCP connections opened a second", show: []string{"rates", "network.tcp.passiveopens", "network.tcp.activeopens"}},
	{name: "tcp.waiting", topic: "tcp", least: 500, severe: 20000, weight: 0.55, exprs: []string{"network.tcpconn.close_wait"},
		says: "%s connections had been closed by the other side and not by the program (CLOSE_WAIT)", brief: "%s connections in CLOSE_WAIT", show: []string{"rates", "network.tcpconn.close_wait"}},
	{name: "tcp.half", topic: "tcp", least: 100, severe: 5000, weight: 0.65, exprs: []string{"network.tcpconn.syn_recv"},
		says: "%s connections were half open (SYN_RECV)", brief: "%s half-open connections", show: []string{"rates", "network.tcpconn.syn_recv"}},
	{name: "udp.lost", topic: "udp", units: metric.PerSecond, rate: true, least: 20, severe: 10000, weight: 0.6, exprs: []string{"rate(network.udp.recvbuferrors)"},
		says: "%s datagrams a second were lost because the program did not take them", brief: "%s datagrams lost a second", show: []string{"rates", "network.udp.recvbuferrors"}},

	{name: "tcp.retries", least: retriesLeast, severe: 15, harm: 0.3, exprs: []string{"max(network.persocket.timer.retrans)"}},

	{name: "thermal", topic: "thermal", absolute: true, least: 0.5, severe: 3, weight: 0.88, exprs: []string{"thermal.pressure.level"},
		says: "the system throttled itself against heat: thermal pressure level %s", brief: "throttled against heat, thermal pressure level %s",
		show: []string{"values", "thermal.pressure.level"}},
	{name: "temperature", topic: "thermal", units: metric.Units{Other: "C"}, least: 85, severe: 110, weight: 0.55, exprs: []string{
		"thermal.cpu.die", "thermal.package"}, says: "the processor was at %s", brief: "the processor at %s", show: []string{"rates", "thermal"}},
	{name: "clock", exprs: []string{"max(hinv.cpu.clock)"}},
	{name: "battery", units: metric.Percent, exprs: []string{"power.battery.charge"}},
	{name: "mains", exprs: []string{"power.ac.connected"}},
	{name: "gpu", topic: "gpu", units: metric.Percent, least: 80, severe: 100, weight: 0.4, exprs: []string{"max(gpu.util)"},
		says: "the graphics processor was %s busy", brief: "graphics processor %s busy", show: []string{"rates", "gpu.util"}},
}
