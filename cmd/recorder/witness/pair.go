package witness

import "tachograph/sample/catalog"

// Pair is two sources of the kernel that must agree.
type Pair struct {
	// Name is short, for lists and labels.
	Name string
	// On are the platforms of the pair.
	On []catalog.Platform
	// Least never exceeds Most. Both are expressions in replay's language; with delta(), they
	// are growth counted over the check, without it levels.
	Least, Most string
	// When is a condition without which the two need not agree, and Else the reason.
	When, Else string
	// Least may exceed Most by this, in the units of Least, and for growth per second. If Least
	// of growth is not more than this, there is no verdict.
	Beyond float64
	// Distrusts are the metrics, or the beginnings of their names, that are not to be relied on
	// when the two disagree.
	Distrusts []string
	// Because says that in a sentence.
	Because string
}

var (
	both   = []catalog.Platform{catalog.Darwin, catalog.Linux}
	darwin = []catalog.Platform{catalog.Darwin}
	linux  = []catalog.Platform{catalog.Linux}
)

// pairs are all pairs. Their factors cover differences between kernels that are not wrong, with
// much to spare: a false alarm is worse than a fault that is found only after it has grown.
var pairs = []Pair{
	// Ticks are counted by sampling what runs at each, processes by the clock: what runs
	// between ticks is counted only for processes. A factor of two was never reached.
	{Name: "cpu: processes, machine", On: darwin, Beyond: 250e6,
		Least:     "sum(delta(proc.psinfo.utime)) + sum(delta(proc.psinfo.stime))",
		Most:      "2 * (" + work + ")",
		Distrusts: []string{"kernel.all.cpu", "kernel.percpu.cpu", "proc.psinfo.utime", "proc.psinfo.stime"},
		Because:   "processes used more than twice the processor time that the machine says was used at all"},
	// Some kernels charge processes with interrupts and with the time that the hypervisor took.
	{Name: "cpu: processes, machine", On: linux, Beyond: 250,
		Least:     "sum(delta(proc.psinfo.utime)) + sum(delta(proc.psinfo.stime))",
		Most:      "2 * (" + work + " + " + taken + ")",
		Distrusts: []string{"kernel.all.cpu", "kernel.percpu.cpu", "proc.psinfo.utime", "proc.psinfo.stime"},
		Because:   "processes used more than twice the processor time that the machine says was used at all"},
	// The final use of an ended process is not known, and a new one has no earlier reading:
	// this way round the two can be compared only in quiet times.
	{Name: "cpu: machine, processes", On: both, Beyond: 500,
		Least: "delta(kernel.all.cpu.user) + delta(kernel.all.cpu.nice)",
		Most: "2 * (sum(delta(proc.psinfo.utime)) + sum(delta(proc.psinfo.stime))" +
			" + sum(delta(proc.psinfo.cutime)) + sum(delta(proc.psinfo.cstime)))",
		When:      "delta(proc.started) == 0 && delta(proc.exited) == 0 && proc.unread == 0 && sum(proc.psinfo.threads) >= 0.95 * kernel.all.nthreads",
		Else:      "processes began or ended meanwhile, or not all of them are seen from here",
		Distrusts: []string{"kernel.all.cpu", "kernel.percpu.cpu", "proc.psinfo.utime", "proc.psinfo.stime"},
		Because:   "the machine says that programs ran for more than twice the processor time that its processes used"},
	// On some machines, processors that are put to sleep count nothing.
	{Name: "cpu: clock, ticks", On: darwin, Beyond: 0.1,
		Least:     "delta(kernel.all.uptime)",
		Most:      "2s + 2 * (" + ticks + ")",
		Distrusts: []string{"kernel.all.cpu", "kernel.percpu.cpu"},
		Because:   "all processors together counted less than half of the time that passed"},
	{Name: "cpu: clock, ticks", On: linux, Beyond: 0.1,
		Least:     "delta(kernel.all.uptime)",
		Most:      "2s + 2 * (" + ticks + " + delta(kernel.all.cpu.wait.total) + " + taken + ")",
		Distrusts: []string{"kernel.all.cpu", "kernel.percpu.cpu"},
		Because:   "all processors together counted less than half of the time that passed"},
	{Name: "cpu: scheduler, processes", On: linux, Beyond: 100e6,
		Least:     "sum(delta(proc.schedstat.cpu_time))",
		Most:      "1.25 * (sum(delta(proc.psinfo.utime)) + sum(delta(proc.psinfo.stime))) + 20ms * count(proc.psinfo.pid)",
		Distrusts: []string{"proc.psinfo.utime", "proc.psinfo.stime", "proc.schedstat.cpu_time"},
		Because:   "the first threads of processes ran for longer, says the scheduler, than all of their threads are charged with"},
	// The kernel measures a group's time by the clock and includes the groups below it: no
	// group can use more than the machine.
	{Name: "cpu: control groups, machine", On: linux, Beyond: 250_000,
		Least:     "max(delta(cgroup.cpu.stat.usage))",
		Most:      "2 * (" + work + " + " + taken + ")",
		Distrusts: []string{"kernel.all.cpu", "kernel.percpu.cpu", "cgroup.cpu.stat"},
		Because:   "a control group used more than twice the processor time that the machine says was used at all"},
	{Name: "switches: taskstats, machine", On: linux, Beyond: 1000,
		Least:     "sum(delta(proc.psinfo.pswitch))",
		Most:      "1.25 * delta(kernel.all.pswitch) / 1count",
		Distrusts: []string{"proc.psinfo.pswitch", "kernel.all.pswitch"},
		Because:   "the context switches of the processes are more than those of the machine"},

	{Name: "threads: processes, machine", On: linux,
		Least: "sum(proc.psinfo.threads)", Most: "1.25 * kernel.all.nthreads + 64",
		Distrusts: []string{"proc.psinfo.threads", "kernel.all.nthreads", "kernel.all.nprocs"},
		Because:   "the processes have more threads than the machine says there are"},
	{Name: "threads: control groups, machine", On: linux,
		Least: "max(cgroup.tasks)", Most: "1.25 * kernel.all.nthreads + 64",
		Distrusts: []string{"cgroup.tasks", "kernel.all.nthreads"},
		Because:   "a control group has more threads than the machine says there are"},
	{Name: "processes: list, machine", On: darwin,
		Least: "proc.nprocs", Most: "1.25 * kernel.all.nprocs + 32",
		Distrusts: []string{"proc.nprocs", "kernel.all.nprocs"},
		Because:   "the list of processes is longer than the number of processes says"},
	{Name: "processes: machine, list", On: darwin,
		Least: "kernel.all.nprocs", Most: "1.25 * proc.nprocs + 32",
		Distrusts: []string{"proc.nprocs", "kernel.all.nprocs"},
		Because:   "the list of processes is shorter than the number of processes says"},

	{Name: "faults: processes, machine", On: darwin, Beyond: 1000,
		Least: "sum(delta(proc.psinfo.faults))", Most: "1.5 * delta(mem.pages.faults)",
		Distrusts: []string{"mem.pages", "mem.util", "mem.pageins", "mem.pageouts", "mem.compressions", "mem.decompressions", "mem.active", "mem.inactive", "mem.freemem"},
		Because:   "processes had more page faults than the whole machine, whose memory statistics stand still or are old"},
	{Name: "faults: processes, machine", On: linux, Beyond: 1000,
		Least: "sum(delta(proc.psinfo.minflt)) + sum(delta(proc.psinfo.maj_flt))", Most: "1.5 * delta(mem.vmstat.pgfault)",
		Distrusts: []string{"mem.vmstat.pgfault", "proc.psinfo.minflt", "proc.psinfo.maj_flt"},
		Because:   "processes had more page faults than the whole machine"},

	{Name: "memory: statistics, sysctl", On: darwin,
		Least: "vm.page_free_count", Most: "1.25 * mem.pages.freemem + 0.05 * vm.pages",
		Distrusts: []string{"mem.pages", "mem.util", "mem.freemem", "mem.active", "mem.inactive"},
		Because:   "the kernel's two counts of free pages differ: its memory statistics stand still or are old"},
	{Name: "memory: sysctl, statistics", On: darwin,
		Least: "mem.pages.freemem", Most: "1.25 * (vm.page_free_count + vm.page_speculative_count) + 0.05 * vm.pages",
		Distrusts: []string{"mem.pages", "mem.util", "mem.freemem", "mem.active", "mem.inactive"},
		Because:   "the kernel's two counts of free pages differ: its memory statistics stand still or are old"},
	{Name: "memory: parts, whole", On: darwin,
		Least:     "mem.util.active + mem.util.inactive + mem.util.wired + mem.util.compressed + mem.util.free",
		Most:      "1.05 * mem.physmem",
		Distrusts: []string{"mem.pages", "mem.util"},
		Because:   "the parts of memory are more than there is"},
	{Name: "memory: whole, parts", On: darwin,
		Least:     "0.5 * mem.physmem",
		Most:      "mem.util.active + mem.util.inactive + mem.util.wired + mem.util.compressed + mem.util.free",
		Distrusts: []string{"mem.pages", "mem.util"},
		Because:   "the parts of memory are less than half of what there is"},
	{Name: "memory: meminfo, vmstat", On: linux,
		Least: "mem.util.free", Most: "1.25 * " + vmstatFree + " + 0.05 * mem.physmem",
		When: vmstatWhole, Else: otherMemory,
		Distrusts: []string{"mem.util", "mem.freemem", "mem.vmstat.nr_free_pages"},
		Because:   "the kernel's two counts of free memory differ"},
	{Name: "memory: vmstat, meminfo", On: linux,
		Least: vmstatFree, Most: "1.25 * mem.util.free + 0.05 * mem.physmem",
		When: vmstatWhole, Else: otherMemory,
		Distrusts: []string{"mem.util", "mem.freemem", "mem.vmstat.nr_free_pages"},
		Because:   "the kernel's two counts of free memory differ"},
	{Name: "memory: parts, whole", On: linux,
		Least:     "mem.util.active + mem.util.inactive + mem.util.unevictable + mem.util.free + mem.util.slab + mem.util.pageTables + mem.util.kernelStack",
		Most:      "1.1 * mem.physmem",
		Distrusts: []string{"mem.util"},
		Because:   "the parts of memory are more than there is"},
	{Name: "memory: control groups, machine", On: linux,
		Least: "max(cgroup.memory.current)", Most: "1.25 * mem.physmem",
		Distrusts: []string{"cgroup.memory", "mem.physmem"},
		Because:   "a control group has more memory than the machine"},

	// A raw frame of a field bus may be empty, so a packet counts as only one byte.
	{Name: "interface: packets, bytes in", On: both, Beyond: 20,
		Least: "delta(network.interface.in.packets) / 1count * 1byte", Most: "delta(network.interface.in.bytes)",
		Distrusts: []string{"network.interface.in.bytes", "network.interface.total.bytes", "network.all.in.bytes", "network.all.total.bytes"},
		Because:   "packets come in without bytes: the driver does not count what it receives"},
	{Name: "interface: packets, bytes out", On: both, Beyond: 20,
		Least: "delta(network.interface.out.packets) / 1count * 1byte", Most: "delta(network.interface.out.bytes)",
		Distrusts: []string{"network.interface.out.bytes", "network.interface.total.bytes", "network.all.out.bytes", "network.all.total.bytes"},
		Because:   "packets go out without bytes: the driver does not count what it sends"},

	// The bytes of connections have no headers, but filters may pass them through connections of
	// their own, which doubles them.
	{Name: "interface: connections, bytes in", On: darwin, Beyond: 250e3,
		Least: "delta(network.interface.in.connection_bytes)", Most: "2.5 * delta(network.interface.in.bytes)",
		Distrusts: []string{"network.interface.in.bytes", "network.interface.total.bytes", "network.all.in.bytes", "network.all.total.bytes"},
		Because:   "connections received more than the interface that carries them: the driver does not count what it receives"},
	{Name: "interface: connections, bytes out", On: darwin, Beyond: 250e3,
		Least: "delta(network.interface.out.connection_bytes)", Most: "2.5 * delta(network.interface.out.bytes)",
		Distrusts: []string{"network.interface.out.bytes", "network.interface.total.bytes", "network.all.out.bytes", "network.all.total.bytes"},
		Because:   "connections sent more than the interface that carries them: the driver does not count what it sends"},

	// A segment has at least two headers of twenty bytes. Traffic between programs on the same
	// machine goes through the loopback, which is in the sum.
	{Name: "network: tcp, interface packets", On: both, Beyond: 20,
		Least: "delta(network.tcp.insegs)", Most: "1.25 * sum(delta(network.interface.in.packets))",
		Distrusts: []string{"network.interface.in", "network.interface.total", "network.all.in", "network.all.total"},
		Because:   "TCP received more segments than all interfaces received packets"},
	{Name: "network: tcp, interface bytes", On: both, Beyond: 2000,
		Least: "delta(network.tcp.insegs) / 1count * 40byte", Most: "1.25 * sum(delta(network.interface.in.bytes))",
		Distrusts: []string{"network.interface.in.bytes", "network.interface.total.bytes", "network.all.in.bytes", "network.all.total.bytes"},
		Because:   "TCP received more segments than the bytes of all interfaces have room for"},
	{Name: "sockets: count, list", On: darwin,
		Least: "net.inet.tcp.pcbcount / 1count", Most: "1.5 * (" + tcpStates + ") + 8",
		Distrusts: []string{"network.tcpconn", "network.tcp.currestab"},
		Because:   "the list of TCP sockets is much shorter than their number: the kernel shows this program its own only"},
	{Name: "sockets: list, count", On: darwin,
		Least: tcpStates, Most: "1.5 * net.inet.tcp.pcbcount / 1count + 8",
		Distrusts: []string{"network.tcpconn", "network.tcp.currestab", "net.inet.tcp.pcbcount"},
		Because:   "the list of TCP sockets is much longer than their number"},
	{Name: "sockets: list, snmp", On: linux,
		Least: "network.tcpconn.established + network.tcpconn.close_wait", Most: "(1.5 * network.tcp.currestab + 64) * 1count",
		Distrusts: []string{"network.tcpconn", "network.tcp.currestab"},
		Because:   "the list of TCP sockets has more connections than the kernel's count of them"},
	{Name: "sockets: snmp, list", On: linux,
		Least: "network.tcp.currestab * 1count", Most: "1.5 * (network.tcpconn.established + network.tcpconn.close_wait) + 64count",
		Distrusts: []string{"network.tcpconn", "network.tcp.currestab"},
		Because:   "the list of TCP sockets has fewer connections than the kernel's count of them"},
	{Name: "sockets: list, sockstat", On: linux,
		Least: "network.tcpconn.time_wait", Most: "1.5 * network.sockstat.tcp.tw + 64count",
		Distrusts: []string{"network.tcpconn", "network.sockstat.tcp"},
		Because:   "the list of TCP sockets has more that wait for their end than the kernel's count of them"},

	{Name: "disk: requests, bytes read", On: both, Beyond: 1,
		Least: "delta(disk.dev.read) / 1count * 0.5KB", Most: "4KB + delta(disk.dev.read_bytes)",
		Distrusts: []string{"disk.dev.read_bytes", "disk.dev.total_bytes", "disk.dev.blkread", "disk.dev.blktotal", "disk.all.read_bytes", "disk.all.total_bytes", "disk.all.blkread", "disk.all.blktotal"},
		Because:   "a disk answered requests to read without reading anything"},
	{Name: "disk: requests, bytes written", On: both, Beyond: 1,
		Least: "delta(disk.dev.write) / 1count * 0.5KB", Most: "4KB + delta(disk.dev.write_bytes)",
		Distrusts: []string{"disk.dev.write_bytes", "disk.dev.total_bytes", "disk.dev.blkwrite", "disk.dev.blktotal", "disk.all.write_bytes", "disk.all.total_bytes", "disk.all.blkwrite", "disk.all.blktotal"},
		Because:   "a disk answered requests to write without writing anything"},
	// What is read of a disk that is made of others is counted on each layer, and once more for
	// the thread that serves it. A file system in memory (shmem) may hold the file behind a
	// loop device, and compressed memory is swapped in from something that is no disk either.
	{Name: "disk: processes, devices", On: linux, Beyond: 1 << 20,
		Least:     "sum(delta(proc.io.read_bytes))",
		Most:      "4 * delta(disk.all.read_bytes) + 4 * mem.util.shmem + 256KB * delta(swap.pagesin) / 1count",
		Distrusts: []string{"disk.all.read_bytes", "disk.all.total_bytes", "disk.dev.read_bytes", "disk.dev.total_bytes", "proc.io.read_bytes"},
		Because:   "processes read more from disks than all disks did"},
	{Name: "disk: processes, devices", On: darwin, Beyond: 1 << 20,
		Least: "sum(delta(proc.io.read_bytes))", Most: "4 * delta(disk.all.read_bytes)",
		Distrusts: []string{"disk.all.read_bytes", "disk.all.total_bytes", "disk.dev.read_bytes", "disk.dev.total_bytes", "proc.io.read_bytes"},
		Because:   "processes read more from disks than all disks did"},

	// A second on the slowest core takes twenty times as much or more.
	{Name: "energy: cpu, processes", On: darwin, Beyond: 100_000,
		Least: "1000000 * (sum(delta(proc.psinfo.utime)) + sum(delta(proc.psinfo.stime))) / 1s", Most: "sum(delta(proc.energy.cpu)) / 1nanojoule",
		When:      "hw.cputype == 16777228",
		Else:      "Intel's processors do not tell what a process used",
		Distrusts: []string{"proc.energy"},
		Because:   "processes use the processors and no energy: the counters of energy stand still"},
	// The battery reports its power at one instant, which may have nothing to do with a burst:
	// this finds only what is wrong by a power of ten.
	{Name: "energy: processes, battery", On: darwin, Beyond: 20e9,
		Least:     "sum(delta(proc.energy.cpu)) / 1nanojoule",
		Most:      "-4000 * (power.battery.amperage / 1mA) * (power.battery.voltage / 1mV) * delta(kernel.all.uptime) / 1s",
		When:      "power.ac.connected == 0 && power.battery.amperage < 0mA",
		Else:      "the machine does not run on its battery",
		Distrusts: []string{"proc.energy", "power.battery.amperage", "power.battery.voltage"},
		Because:   "the processes use much more power than the battery gives"},
}

// What processors count: work for programs; interrupts and what the hypervisor took; and all
// except the latter and waiting for disks.
const (
	work  = "delta(kernel.all.cpu.user) + delta(kernel.all.cpu.nice) + delta(kernel.all.cpu.sys)"
	taken = "delta(kernel.all.cpu.irq.hard) + delta(kernel.all.cpu.irq.soft) + delta(kernel.all.cpu.steal)"
	ticks = work + " + delta(kernel.all.cpu.idle)"
)

// tcpStates are the rows of the list of TCP sockets.
const tcpStates = "network.tcpconn.close + network.tcpconn.listen + network.tcpconn.syn_sent + network.tcpconn.syn_recv" +
	" + network.tcpconn.established + network.tcpconn.close_wait + network.tcpconn.fin_wait1 + network.tcpconn.closing" +
	" + network.tcpconn.last_ack + network.tcpconn.fin_wait2 + network.tcpconn.time_wait"

// A container's meminfo is its own, and vmstat is the host's; a virtual machine that gets its
// memory bit by bit shows in meminfo what it may have, and in vmstat what it has. The two are
// about the same memory if the pages in vmstat add up to the physical memory.
const (
	vmstatFree  = "mem.vmstat.nr_free_pages / 1count * hinv.pagesize"
	vmstatPages = "(mem.vmstat.nr_free_pages + mem.vmstat.nr_active_anon + mem.vmstat.nr_inactive_anon + mem.vmstat.nr_active_file" +
		" + mem.vmstat.nr_inactive_file + mem.vmstat.nr_unevictable + mem.vmstat.nr_slab_reclaimable + mem.vmstat.nr_slab_unreclaimable)" +
		" / 1count * hinv.pagesize"
	vmstatWhole = vmstatPages + " > 0.75 * mem.physmem && " + vmstatPages + " < 1.25 * mem.physmem"
	otherMemory = "meminfo and vmstat are not about the same memory here, as in a container or where memory is added as it is needed"
)
