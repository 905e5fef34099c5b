package decode

const statfs = Struct("statfs")

// A mounted file system.
var (
	FSFstypename  = statfs.Field("f_fstypename", 72, 16, false)
	FSMntonname   = statfs.Field("f_mntonname", 88, 1024, false)
	FSMntfromname = statfs.Field("f_mntfromname", 1112, 1024, false)

	_ = []*Field{
		statfs.U32("f_bsize", 0),
		statfs.U64("f_blocks", 8),
		statfs.U64("f_bfree", 16),
		statfs.U64("f_bavail", 24),
		statfs.U64("f_files", 32),
		statfs.U64("f_ffree", 40),
	}
)

const utmpx = Struct("utmpx")

// A login record.
var (
	UtUser = utmpx.Field("ut_user", 0, 256, false)
	UtType = utmpx.Field("ut_type", 296, 2, true)
)

const xswUsage = Struct("xsw_usage")

// Swap, from vm.swapusage.
var _ = []*Field{
	xswUsage.U64("xsu_total", 0),
	xswUsage.U64("xsu_avail", 8),
	xswUsage.U64("xsu_used", 16),
}

const clockinfo = Struct("clockinfo")

// The clock, from kern.clockrate.
var _ = []*Field{
	clockinfo.I32("hz", 0),
	clockinfo.I32("tick", 4),
	clockinfo.I32("tickadj", 8),
	clockinfo.I32("stathz", 12),
	clockinfo.I32("profhz", 16),
}

const timeval = Struct("timeval")

// A time: seconds since 1970 and microseconds.
var (
	TimevalSec  = timeval.Field("tv_sec", 0, 8, true)
	TimevalUsec = timeval.I32("tv_usec", 8)
)

const loadavg = Struct("loadavg")

// The load, from vm.loadavg: three numbers to be divided by fscale.
var _ = []*Field{
	loadavg.Array("ldavg", 0, 4, 3, false),
	loadavg.Field("fscale", 16, 8, true),
}

const vfsconf = Struct("vfsconf")

// A file system type, from getvfsbyname.
var (
	VFSTypenum = vfsconf.I32("vfc_typenum", 20)
)

const xinpgen = Struct("xinpgen")

// The head and the tail of a list of protocol control blocks.
var (
	PCBLen   = xinpgen.U32("xig_len", 0)
	PCBCount = xinpgen.U32("xig_count", 4)
	PCBGen   = xinpgen.U64("xig_gen", 8)
)

const xtcpcb64 = Struct("xtcpcb64")

// A TCP control block.
var (
	TCPCBLen   = xtcpcb64.U32("xt_len", 0)
	TCPCBState = xtcpcb64.I32("t_state", 292)

	tcpcbPort   = xtcpcb64.Field("xt_inpcb.inp_lport", 22, 2, false) // in the order of the network
	tcpcbFamily = xtcpcb64.Field("xt_inpcb.inp_vflag", 96, 1, false)
	tcpcbLocal6 = xtcpcb64.Field("xt_inpcb.inp_dependladdr.inp6_local", 116, 16, false)
	tcpcbLocal4 = xtcpcb64.Field("xt_inpcb.inp_dependladdr.inp46_local.ia46_addr4", 128, 4, false)
	tcpcbQueue  = xtcpcb64.Field("xt_inpcb.xi_socket.so_qlen", 184, 2, true)
	tcpcbLimit  = xtcpcb64.Field("xt_inpcb.xi_socket.so_qlimit", 188, 2, true)
)

const smcParam = Struct("smc_param")

// A request to the SMC, and its answer.
var (
	SMCKey      = smcParam.U32("key", 0)
	SMCDataSize = smcParam.U32("keyInfo.dataSize", 28)
	SMCDataType = smcParam.U32("keyInfo.dataType", 32)
	SMCResult   = smcParam.Field("result", 40, 1, false)
	SMCCommand  = smcParam.Field("data8", 42, 1, false)
	SMCIndex    = smcParam.U32("data32", 44)
	SMCBytes    = smcParam.Field("bytes", 48, 32, false)
)

// Caches, from hw.cacheconfig and hw.cachesize: not a struct of Apple's, but one number per
// level.
var _ = Struct("caches").Array("level", 0, 8, 10, false)
