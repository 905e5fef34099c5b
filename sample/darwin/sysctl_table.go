package darwin

import (
	"math"

	"tachograph/sample/darwin/decode"
)

// A column is a metric that one sysctl's answer supplies.
type column struct {
	metric string
	sysctl string
	// value picks the metric out of the answer, for one of the instances of
	// its domain; floating point as the bits of a float64. Nil means that the
	// answer is the value.
	value func(answer []byte, instance int) (uint64, bool)
	// less is a second sysctl, a number, which is subtracted.
	less string
}

// scalarColumns are the metrics that go by another name than their sysctl.
// Those that go by its name stand in the tree.
var scalarColumns = []column{
	{metric: "mem.physmem", sysctl: "hw.memsize", value: shifted(10)},
	{metric: "hinv.physmem", sysctl: "hw.memsize", value: shifted(20)},
	{metric: "hinv.pagesize", sysctl: "hw.pagesize"},
	{metric: "hinv.machine", sysctl: "hw.model"},
	{metric: "kernel.uname.sysname", sysctl: "kern.ostype"},
	{metric: "kernel.uname.nodename", sysctl: "kern.hostname"},
	{metric: "kernel.uname.release", sysctl: "kern.osrelease"},
	{metric: "kernel.uname.version", sysctl: "kern.version"},
	{metric: "kernel.uname.machine", sysctl: "hw.machine"},
	{metric: "kernel.all.hz", sysctl: "kern.clockrate", value: fields(decode.ClockHz)},
	{metric: "kernel.limits.maxproc", sysctl: "kern.maxproc"},
	{metric: "kernel.limits.maxprocperuid", sysctl: "kern.maxprocperuid"},
	{metric: "kernel.limits.maxfiles", sysctl: "kern.maxfiles"},
	{metric: "kernel.limits.maxfilesperproc", sysctl: "kern.maxfilesperproc"},
	{metric: "vfs.files.count", sysctl: "kern.num_files"},
	{metric: "vfs.files.max", sysctl: "kern.maxfiles"},
	{metric: "vfs.files.free", sysctl: "kern.maxfiles", less: "kern.num_files"},
	{metric: "vfs.vnodes.count", sysctl: "kern.num_vnodes"},
	{metric: "vfs.vnodes.max", sysctl: "kern.maxvnodes"},
	{metric: "vfs.vnodes.recycled", sysctl: "kern.num_recycledvnodes"},
	{metric: "ipc.mbuf.clusters", sysctl: "kern.ipc.nmbclusters"},
	{metric: "ipc.maxsockbuf", sysctl: "kern.ipc.maxsockbuf"},
	{metric: "ipc.somaxconn", sysctl: "kern.ipc.somaxconn"},
	{metric: "ipc.socket.defunct", sysctl: "kern.ipc.sodefunct_calls"},
	{metric: "mem.compressor.swapouts_under_30s", sysctl: "vm.compressor_swapouts_under_30s"},
	{metric: "mem.compressor.swapouts_under_60s", sysctl: "vm.compressor_swapouts_under_60s"},
	{metric: "mem.compressor.swapouts_under_300s", sysctl: "vm.compressor_swapouts_under_300s"},
	{metric: "mem.compressor.thrashing_detected", sysctl: "vm.compressor_swapper_swapout_thrashing_detected"},
	{metric: "mem.compressor.major_compactions", sysctl: "vm.compressor.compactor.major_compactions_completed"},
	{metric: "mem.compressor.lz4_compressions", sysctl: "vm.lz4_compressions"},
	{metric: "swap.length", sysctl: "vm.swapusage", value: kilobytes(decode.SwapTotal)},
	{metric: "swap.used", sysctl: "vm.swapusage", value: kilobytes(decode.SwapUsed)},
	{metric: "swap.free", sysctl: "vm.swapusage", value: kilobytes(decode.SwapAvail)},

	{metric: "network.sockstat.tcp.inuse", sysctl: "net.inet.tcp.pcbcount"},
	{metric: "network.sockstat.udp.inuse", sysctl: "net.inet.udp.pcbcount"},

	{metric: "network.udp.indatagrams", sysctl: "net.inet.udp.stats", value: fields(decode.UDPIpackets)},
	{metric: "network.udp.outdatagrams", sysctl: "net.inet.udp.stats", value: fields(decode.UDPOpackets)},
	{metric: "network.udp.noports", sysctl: "net.inet.udp.stats", value: fields(decode.UDPNoport)},
	{metric: "network.udp.rcvbuferrors", sysctl: "net.inet.udp.stats", value: fields(decode.UDPFullsock)},
	{metric: "network.udp.inerrors", sysctl: "net.inet.udp.stats", value: fields(decode.UDPHdrops, decode.UDPBadsum, decode.UDPBadlen)},
	{metric: "network.udp.inerrors.total", sysctl: "net.inet.udp.stats", value: fields(decode.UDPHdrops, decode.UDPBadsum, decode.UDPBadlen)},
	{metric: "network.udp.inerrors.hdrops", sysctl: "net.inet.udp.stats", value: fields(decode.UDPHdrops)},
	{metric: "network.udp.inerrors.badsum", sysctl: "net.inet.udp.stats", value: fields(decode.UDPBadsum)},
	{metric: "network.udp.inerrors.badlen", sysctl: "net.inet.udp.stats", value: fields(decode.UDPBadlen)},

	{metric: "network.icmp.inmsgs", sysctl: "net.inet.icmp.stats", value: icmpSum(decode.ICMPInHist)},
	{metric: "network.icmp.outmsgs", sysctl: "net.inet.icmp.stats", value: icmpSum(decode.ICMPOutHist)},
	{metric: "network.icmp.inerrors", sysctl: "net.inet.icmp.stats", value: fields(decode.ICMPError, decode.ICMPBadcode, decode.ICMPTooshort, decode.ICMPChecksum, decode.ICMPBadlen)},
	{metric: "network.icmp.indestunreachs", sysctl: "net.inet.icmp.stats", value: icmpType(decode.ICMPInHist, 3)},
	{metric: "network.icmp.inechos", sysctl: "net.inet.icmp.stats", value: icmpType(decode.ICMPInHist, 8)},
	{metric: "network.icmp.inechoreps", sysctl: "net.inet.icmp.stats", value: icmpType(decode.ICMPInHist, 0)},
	{metric: "network.icmp.outechos", sysctl: "net.inet.icmp.stats", value: icmpType(decode.ICMPOutHist, 8)},
	{metric: "network.icmp.outechoreps", sysctl: "net.inet.icmp.stats", value: icmpType(decode.ICMPOutHist, 0)},

	{metric: "network.ipv6.inreceives", sysctl: "net.inet6.ip6.stats", value: fields(decode.IP6Total)},
	{metric: "network.ipv6.outforwarded", sysctl: "net.inet6.ip6.stats", value: fields(decode.IP6Forward)},
	{metric: "network.ipv6.indiscards", sysctl: "net.inet6.ip6.stats", value: fields(decode.IP6Toosmall, decode.IP6Tooshort)},
	{metric: "network.ipv6.outdiscards", sysctl: "net.inet6.ip6.stats", value: fields(decode.IP6Odropped)},
	{metric: "network.ipv6.fragcreates", sysctl: "net.inet6.ip6.stats", value: fields(decode.IP6Ofragments)},
	{metric: "network.ipv6.reasmoks", sysctl: "net.inet6.ip6.stats", value: fields(decode.IP6Reassembled)},
}

// A domainTable is a group of columns with one instance domain whose members
// are always the same.
type domainTable struct {
	group     string
	instances []string
	columns   []column
}

var domainTables = []domainTable{
	{"load", []string{"1 minute", "5 minute", "15 minute"}, []column{
		{metric: "kernel.all.load", sysctl: "vm.loadavg", value: load},
		{metric: "vm.loadavg", sysctl: "vm.loadavg", value: load},
	}},
	{"swap fields", []string{"total", "avail", "used"}, []column{
		{metric: "vm.swapusage", sysctl: "vm.swapusage", value: oneOf(decode.SwapTotal, decode.SwapAvail, decode.SwapUsed)},
	}},
	{"clock fields", []string{"hz", "tick", "tickadj", "profhz", "stathz"}, []column{
		{metric: "kern.clockrate", sysctl: "kern.clockrate", value: oneOf(decode.ClockHz, decode.ClockTick, decode.ClockTickadj, decode.ClockProfhz, decode.ClockStathz)},
	}},
	{"cache levels", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, []column{
		{metric: "hw.cacheconfig", sysctl: "hw.cacheconfig", value: decode.Quads},
		{metric: "hw.cachesize", sysctl: "hw.cachesize", value: decode.Quads},
	}},
}

// micros is an answer that is a struct timeval, in microseconds since 1970.
func micros(answer []byte, _ int) (uint64, bool) { return decode.Micros(answer) }

// shifted is a number of 8 bytes in a larger unit.
func shifted(by uint) func([]byte, int) (uint64, bool) {
	return func(answer []byte, _ int) (uint64, bool) {
		v, ok := decode.Quads(answer, 0)
		return v >> by, ok
	}
}

// fields is the sum of some fields. Fields of 32 bits are added up in 32 bits:
// the sum then wraps where its parts do, and a rate across the wrap is right.
func fields(fs ...*decode.Field) func([]byte, int) (uint64, bool) {
	return func(answer []byte, _ int) (uint64, bool) {
		var sum uint64
		for _, f := range fs {
			v, ok := f.Uint(answer)
			if !ok {
				return 0, false
			}
			sum += v
		}
		if fs[0].Size == 4 && !fs[0].Signed {
			sum &= math.MaxUint32
		}
		return sum, true
	}
}

func kilobytes(f *decode.Field) func([]byte, int) (uint64, bool) {
	return func(answer []byte, _ int) (uint64, bool) {
		v, ok := f.Uint(answer)
		return v >> 10, ok
	}
}

func oneOf(fs ...*decode.Field) func([]byte, int) (uint64, bool) {
	return func(answer []byte, instance int) (uint64, bool) { return fs[instance].Uint(answer) }
}

func load(answer []byte, instance int) (uint64, bool) {
	loads, ok := decode.Loads(answer)
	return math.Float64bits(loads[instance]), ok
}

func icmpSum(off int) func([]byte, int) (uint64, bool) {
	return func(answer []byte, _ int) (uint64, bool) { return decode.U32Sum(answer, off, decode.ICMPTypes) }
}

func icmpType(off, kind int) func([]byte, int) (uint64, bool) {
	return func(answer []byte, _ int) (uint64, bool) { return decode.U32At(answer, off, kind) }
}
