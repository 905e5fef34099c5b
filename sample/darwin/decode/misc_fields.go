package decode

// A mounted file system.
var (
	FSBsize       = u32("statfs", "f_bsize", 0)
	FSBlocks      = u64("statfs", "f_blocks", 8)
	FSBfree       = u64("statfs", "f_bfree", 16)
	FSBavail      = u64("statfs", "f_bavail", 24)
	FSFiles       = u64("statfs", "f_files", 32)
	FSFfree       = u64("statfs", "f_ffree", 40)
	FSFstypename  = field("statfs", "f_fstypename", 72, 16, false)
	FSMntonname   = field("statfs", "f_mntonname", 88, 1024, false)
	FSMntfromname = field("statfs", "f_mntfromname", 1112, 1024, false)
)

// A login record.
var (
	UtUser = field("utmpx", "ut_user", 0, 256, false)
	UtType = field("utmpx", "ut_type", 296, 2, true)
)

// Swap, from vm.swapusage.
var (
	SwapTotal = u64("xsw_usage", "xsu_total", 0)
	SwapAvail = u64("xsw_usage", "xsu_avail", 8)
	SwapUsed  = u64("xsw_usage", "xsu_used", 16)
)

// The clock, from kern.clockrate.
var (
	ClockHz      = i32("clockinfo", "hz", 0)
	ClockTick    = i32("clockinfo", "tick", 4)
	ClockTickadj = i32("clockinfo", "tickadj", 8)
	ClockStathz  = i32("clockinfo", "stathz", 12)
	ClockProfhz  = i32("clockinfo", "profhz", 16)
)

// A time: seconds since 1970 and the microseconds beyond.
var (
	TimevalSec  = field("timeval", "tv_sec", 0, 8, true)
	TimevalUsec = i32("timeval", "tv_usec", 8)
)

// The load, from vm.loadavg: three numbers to be divided by fscale.
var (
	LoadScale = field("loadavg", "fscale", 16, 8, true)
)

// A file system type, from getvfsbyname.
var (
	VFSTypenum = i32("vfsconf", "vfc_typenum", 20)
)

// The head and the tail of a list of protocol control blocks.
var (
	PCBLen   = u32("xinpgen", "xig_len", 0)
	PCBCount = u32("xinpgen", "xig_count", 4)
	PCBGen   = u64("xinpgen", "xig_gen", 8)
)

// A TCP control block.
var (
	TCPCBLen   = u32("xtcpcb64", "xt_len", 0)
	TCPCBState = i32("xtcpcb64", "t_state", 292)
)

// A request to the SMC, and its answer.
var (
	SMCKey      = u32("smc_param", "key", 0)
	SMCDataSize = u32("smc_param", "keyInfo.dataSize", 28)
	SMCDataType = u32("smc_param", "keyInfo.dataType", 32)
	SMCResult   = field("smc_param", "result", 40, 1, false)
	SMCCommand  = field("smc_param", "data8", 42, 1, false)
	SMCIndex    = u32("smc_param", "data32", 44)
	SMCBytes    = field("smc_param", "bytes", 48, 32, false)
)
