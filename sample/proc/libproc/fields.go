package libproc

import "tachograph/sample/darwin/decode"

func kinfo(name string, off, size int, signed bool) *decode.Field {
	return field("kinfo_proc", name, off, size, signed)
}

// From sysctl kern.proc, which any user can read for the processes of all users.
var (
	KStartSec    = kinfo("kp_proc.p_un.__p_starttime.tv_sec", 0, 8, true)
	KStartMicro  = kinfo("kp_proc.p_un.__p_starttime.tv_usec", 8, 4, true)
	KFlag        = kinfo("kp_proc.p_flag", 32, 4, true)
	KStat        = kinfo("kp_proc.p_stat", 36, 1, true)
	KPid         = kinfo("kp_proc.p_pid", 40, 4, true)
	KComm        = kinfo("kp_proc.p_comm", 243, 17, false)
	KExitStatus  = kinfo("kp_proc.p_xstat", 280, 2, false)
	KRealUID     = kinfo("kp_eproc.e_pcred.p_ruid", 392, 4, false)
	KSavedUID    = kinfo("kp_eproc.e_pcred.p_svuid", 396, 4, false)
	KRealGID     = kinfo("kp_eproc.e_pcred.p_rgid", 400, 4, false)
	KUID         = kinfo("kp_eproc.e_ucred.cr_uid", 420, 4, false)
	KGroupCount  = kinfo("kp_eproc.e_ucred.cr_ngroups", 424, 2, true)
	KParent      = kinfo("kp_eproc.e_ppid", 560, 4, true)
	KTTY         = kinfo("kp_eproc.e_tdev", 572, 4, false)
	kFirstGroup  = &decode.Field{Struct: "kinfo_proc", Name: "kp_eproc.e_ucred.cr_groups", Off: 428, Size: 4}
	kGroupsCount = 16

	_ = []*decode.Field{
		kinfo("kp_proc.p_nice", 242, 1, true),
		kinfo("kp_eproc.e_pgid", 564, 4, true),
		kinfo("kp_eproc.e_tpgid", 576, 4, true),
	}
)

func task(name string, off, size int, signed bool) *decode.Field {
	return field("proc_taskallinfo", name, off, size, signed)
}

// From proc_pidinfo(PROC_PIDTASKALLINFO).
var (
	TStartSec   = task("pbsd.pbi_start_tvsec", 120, 8, false)
	TStartMicro = task("pbsd.pbi_start_tvusec", 128, 8, false)
	TUser       = task("ptinfo.pti_total_user", 152, 8, false)
	TSystem     = task("ptinfo.pti_total_system", 160, 8, false)
	TThreads    = task("ptinfo.pti_threadnum", 220, 4, true)
	TRunning    = task("ptinfo.pti_numrunning", 224, 4, true)

	_ = []*decode.Field{
		task("pbsd.pbi_name", 64, 32, false),
		task("ptinfo.pti_virtual_size", 136, 8, false),
		task("ptinfo.pti_resident_size", 144, 8, false),
		task("ptinfo.pti_faults", 188, 4, true),
		task("ptinfo.pti_pageins", 192, 4, true),
		task("ptinfo.pti_cow_faults", 196, 4, true),
		task("ptinfo.pti_messages_sent", 200, 4, true),
		task("ptinfo.pti_messages_received", 204, 4, true),
		task("ptinfo.pti_syscalls_mach", 208, 4, true),
		task("ptinfo.pti_syscalls_unix", 212, 4, true),
		task("ptinfo.pti_csw", 216, 4, true),
		task("ptinfo.pti_priority", 228, 4, true),
	}
)

func usage(name string, off int) *decode.Field {
	return field("rusage_info_v6", name, off, 8, false)
}

// From proc_pid_rusage. Times are Mach ticks. Older flavours end earlier.
var (
	UUser   = usage("ri_user_time", 16)
	USystem = usage("ri_system_time", 24)
	UStart  = usage("ri_proc_start_abstime", 80)

	_ = []*decode.Field{
		usage("ri_pkg_idle_wkups", 32),
		usage("ri_interrupt_wkups", 40),
		usage("ri_pageins", 48),
		usage("ri_wired_size", 56),
		usage("ri_phys_footprint", 72),
		usage("ri_child_user_time", 96),
		usage("ri_child_system_time", 104),
		usage("ri_diskio_bytesread", 144),
		usage("ri_diskio_byteswritten", 152),
		usage("ri_cpu_time_qos_default", 160),
		usage("ri_cpu_time_qos_maintenance", 168),
		usage("ri_cpu_time_qos_background", 176),
		usage("ri_cpu_time_qos_utility", 184),
		usage("ri_cpu_time_qos_legacy", 192),
		usage("ri_cpu_time_qos_user_initiated", 200),
		usage("ri_cpu_time_qos_user_interactive", 208),
		usage("ri_billed_system_time", 216),
		usage("ri_serviced_system_time", 224),
		usage("ri_logical_writes", 232),
		usage("ri_lifetime_max_phys_footprint", 240),
		usage("ri_instructions", 248),
		usage("ri_cycles", 256),
		usage("ri_billed_energy", 264),
		usage("ri_serviced_energy", 272),
		usage("ri_runnable_time", 288),
		usage("ri_user_ptime", 304),
		usage("ri_system_ptime", 312),
		usage("ri_pinstructions", 320),
		usage("ri_pcycles", 328),
		usage("ri_energy_nj", 336),
		usage("ri_penergy_nj", 344),
	}
)

// From proc_pidinfo(PROC_PIDUNIQIDENTIFIERINFO).
var (
	Unique       = field("proc_uniqidentifierinfo", "p_uniqueid", 16, 8, false)
	UniqueParent = field("proc_uniqidentifierinfo", "p_puniqueid", 24, 8, false)
)

// coalitionID is an array; its first element is the resource coalition.
var coalitionID = &decode.Field{Struct: "proc_pidcoalitioninfo", Name: "coalition_id", Off: 0, Size: 8}

// From proc_pidinfo(PROC_PIDTHREADID64INFO). Times are nanoseconds already.
var (
	ThreadState = field("proc_threadinfo", "pth_run_state", 24, 4, true)
	ThreadName  = field("proc_threadinfo", "pth_name", 48, 64, false)

	_ = []*decode.Field{
		field("proc_threadinfo", "pth_user_time", 0, 8, false),
		field("proc_threadinfo", "pth_system_time", 8, 8, false),
		field("proc_threadinfo", "pth_cpu_usage", 16, 4, true),
		field("proc_threadinfo", "pth_policy", 20, 4, true),
		field("proc_threadinfo", "pth_sleep_time", 32, 4, true),
		field("proc_threadinfo", "pth_curpri", 36, 4, true),
		field("proc_threadinfo", "pth_priority", 40, 4, true),
	}
)

// From proc_pidinfo(PROC_PIDREGIONPATHINFO): the region that an address is in, or
// else the next one.
var (
	RegionAddress = field("proc_regionwithpathinfo", "prp_prinfo.pri_address", 80, 8, false)
	RegionSize    = field("proc_regionwithpathinfo", "prp_prinfo.pri_size", 88, 8, false)
	RegionPath    = field("proc_regionwithpathinfo", "prp_vip.vip_path", 248, 1024, false)
)

var (
	cwdPath        = field("proc_vnodepathinfo", "pvi_cdir.vip_path", 152, 1024, false)
	fdType         = field("proc_fdinfo", "proc_fdtype", 4, 4, false)
	fdNumber       = field("proc_fdinfo", "proc_fd", 0, 4, true)
	socketProtocol = field("socket_fdinfo", "psi.soi_protocol", 180, 4, true)
	socketFamily   = field("socket_fdinfo", "psi.soi_family", 184, 4, true)
	socketKind     = field("socket_fdinfo", "psi.soi_kind", 256, 4, true)
)
