package proc

import (
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// reading is the process whose row is being filled. It is reused for each row.
type reading struct {
	k *linuxKernel
	p *process[linuxProcess]
	// What is read at most once per row.
	schedRead, statusRead bool
	schedWhy, statusWhy   metric.Reason
	tcp, udp              uint64
	socketWhy             metric.Reason
	mayOpen               uint64 // files at a time
	limitWhy              metric.Reason
}

func (r *reading) stat() *procfs.StatNumbers { return &r.p.platform.stat }

const tickMillis = 1000 / ticksPerSecond

func (k *linuxKernel) allParts() []supply[reading] {
	return []supply[reading]{
		{load: func(*reading) metric.Reason { return metric.Present }, columns: statColumns, lasting: (*reading).lastingStat},
		{load: (*reading).loadSwitches, columns: switchColumns}, // before status, which is read again
		{load: (*reading).loadStatus, columns: statusColumns, lasting: (*reading).lastingStatus},
		{load: func(*reading) metric.Reason { return metric.Present }, columns: groupColumns,
			lasting: func(*reading, *metric.Desc) bool { return true }},
		{load: (*reading).loadIO, columns: ioColumns},
		{load: (*reading).loadSched, columns: schedColumns},
		{load: (*reading).loadSmaps, columns: smapsColumns, restless: true},
		{load: (*reading).loadDescriptors, columns: descriptorColumns, restless: true},
		{load: (*reading).loadWchan, columns: []column[reading]{{name: "proc.psinfo.wchan_s", text: func(r *reading) string { return r.p.platform.wchan }}}, restless: true},
		{load: (*reading).loadCwd, columns: []column[reading]{{name: "proc.psinfo.cwd", text: func(r *reading) string { return r.p.platform.cwd }}}, restless: true},
	}
}

var statColumns = []column[reading]{
	{name: "proc.psinfo.pid", number: func(r *reading) uint64 { return uint64(r.p.pid) }},
	{name: "proc.psinfo.cmd", text: func(r *reading) string { return r.p.name }},
	{name: "proc.psinfo.sname", text: func(r *reading) string { return stateNames[r.p.platform.state()] }, missing: (*reading).nobody},
	{name: "proc.psinfo.ppid", number: func(r *reading) uint64 { return uint64(r.stat().PPID) }},
	{name: "proc.psinfo.pgrp", number: func(r *reading) uint64 { return uint64(r.stat().PGrp) }},
	{name: "proc.psinfo.pgid", number: func(r *reading) uint64 { return uint64(r.stat().PGrp) }},
	{name: "proc.psinfo.session", number: func(r *reading) uint64 { return uint64(r.stat().Session) }},
	{name: "proc.psinfo.tty", number: func(r *reading) uint64 { return uint64(r.stat().TTY) }},
	{name: "proc.psinfo.ttyname", text: func(r *reading) string { return r.k.tty(r.p) }},
	{name: "proc.psinfo.tty_pgrp", number: func(r *reading) uint64 { return uint64(uint32(r.stat().TPGID)) }},
	{name: "proc.psinfo.tpgid", number: func(r *reading) uint64 { return uint64(uint32(r.stat().TPGID)) }},
	{name: "proc.psinfo.minflt", number: func(r *reading) uint64 { return r.stat().MinFlt }},
	{name: "proc.psinfo.maj_flt", number: func(r *reading) uint64 { return r.stat().MajFlt }},
	{name: "proc.psinfo.majflt", number: func(r *reading) uint64 { return r.stat().MajFlt }},
	{name: "proc.psinfo.faults", number: func(r *reading) uint64 { return r.stat().MinFlt + r.stat().MajFlt }},
	{name: "proc.psinfo.utime", number: func(r *reading) uint64 { return r.stat().UTime * tickMillis }},
	{name: "proc.psinfo.stime", number: func(r *reading) uint64 { return r.stat().STime * tickMillis }},
	{name: "proc.psinfo.cutime", number: func(r *reading) uint64 { return uint64(r.stat().CUTime) * tickMillis }},
	{name: "proc.psinfo.cstime", number: func(r *reading) uint64 { return uint64(r.stat().CSTime) * tickMillis }},
	{name: "proc.psinfo.priority", number: func(r *reading) uint64 { return uint64(r.thread().Priority) }, missing: (*reading).nobody},
	{name: "proc.psinfo.nice", number: func(r *reading) uint64 { return uint64(r.thread().Nice) }, missing: (*reading).nobody},
	{name: "proc.psinfo.threads", number: func(r *reading) uint64 { return uint64(r.stat().Threads) }},
	{name: "proc.psinfo.start_time", number: func(r *reading) uint64 { return r.p.start * tickMillis }},
	{name: "proc.psinfo.start_wall", number: func(r *reading) uint64 { return uint64(r.p.platform.startWall / 1000) }},
	{name: "proc.psinfo.unique", number: func(r *reading) uint64 { return r.p.start }},
	{name: "proc.psinfo.parent_unique", number: func(r *reading) uint64 { return r.p.platform.parent },
		missing: func(r *reading) metric.Reason { return r.k.findParent(r.p) }},
	{name: "proc.psinfo.wchan", number: func(r *reading) uint64 { return r.thread().WChan }, missing: (*reading).nobody},
	{name: "proc.psinfo.processor", number: func(r *reading) uint64 { return uint64(r.thread().Processor) }, missing: (*reading).nobody},
	{name: "proc.psinfo.policy", number: func(r *reading) uint64 { return r.thread().Policy }, missing: (*reading).nobody},
	{name: "proc.psinfo.rt_priority", number: func(r *reading) uint64 { return r.thread().RTPriority }, missing: (*reading).nobody},
	{name: "proc.psinfo.delayacct_blkio_time", number: func(r *reading) uint64 { return r.stat().BlkIOTicks * tickMillis }, missing: (*reading).headless},
	{name: "proc.psinfo.exe", text: func(r *reading) string { return r.p.platform.exe },
		missing: func(r *reading) metric.Reason { return r.p.platform.exeWhy }},
	{name: "proc.psinfo.psargs", text: func(r *reading) string { return r.p.platform.args },
		missing: func(r *reading) metric.Reason { return r.p.platform.argsWhy }},
	{name: "proc.memory.size", number: func(r *reading) uint64 { return r.stat().VSize / 1024 }, missing: (*reading).headless},
}

func ids(get func(s *procfs.Status) uint64) func(r *reading) uint64 {
	return func(r *reading) uint64 { return get(&r.p.platform.status) }
}

func userName(get func(s *procfs.Status) uint64) func(r *reading) string {
	return func(r *reading) string { return r.k.users.name(uint32(get(&r.p.platform.status))) }
}

func groupName(get func(s *procfs.Status) uint64) func(r *reading) string {
	return func(r *reading) string { return r.k.groups.name(uint32(get(&r.p.platform.status))) }
}

// memory is a column for a size that a process without an address space does not have.
func memory(name string, get func(s *procfs.Status) uint64) column[reading] {
	return column[reading]{name: name, number: func(r *reading) uint64 { return get(&r.p.platform.status) },
		missing: func(r *reading) metric.Reason {
			if !r.p.platform.status.HasMemory && !r.p.platform.headless() {
				return noAddressSpace
			}
			return r.headless()
		}}
}

// headless returns why values that the kernel shows only by the first thread are absent.
func (r *reading) headless() metric.Reason {
	if r.p.platform.headless() {
		return firstEnded
	}
	return metric.Present
}

var firstEnded = metric.ReasonFor("the first thread of the process has ended, and the kernel shows this only by it")

var (
	realUID      = func(s *procfs.Status) uint64 { return s.UID }
	effectiveUID = func(s *procfs.Status) uint64 { return s.EUID }
	savedUID     = func(s *procfs.Status) uint64 { return s.SUID }
	realGID      = func(s *procfs.Status) uint64 { return s.GID }
	effectiveGID = func(s *procfs.Status) uint64 { return s.EGID }
)

var statusColumns = []column[reading]{
	{name: "proc.id.uid", number: ids(realUID)},
	{name: "proc.id.uid_nm", text: userName(realUID)},
	{name: "proc.id.euid", number: ids(effectiveUID)},
	{name: "proc.id.euid_nm", text: userName(effectiveUID)},
	{name: "proc.id.suid", number: ids(savedUID)},
	{name: "proc.id.suid_nm", text: userName(savedUID)},
	{name: "proc.id.gid", number: ids(realGID)},
	{name: "proc.id.gid_nm", text: groupName(realGID)},
	{name: "proc.id.egid", number: ids(effectiveGID)},
	{name: "proc.id.egid_nm", text: groupName(effectiveGID)},
	{name: "proc.psinfo.tgid", number: ids(func(s *procfs.Status) uint64 { return s.Tgid })},
	// The kernel says that the number in stat is not exact. A kernel thread has none in status.
	{name: "proc.memory.rss", number: ids(func(s *procfs.Status) uint64 { return s.VmRSS }), missing: (*reading).headless},
	memory("proc.memory.vmsize", func(s *procfs.Status) uint64 { return s.VmSize }),
	memory("proc.memory.vmpeak", func(s *procfs.Status) uint64 { return s.VmPeak }),
	memory("proc.memory.vmhwm", func(s *procfs.Status) uint64 { return s.VmHWM }),
	memory("proc.memory.vmdata", func(s *procfs.Status) uint64 { return s.VmData }),
	memory("proc.memory.vmstack", func(s *procfs.Status) uint64 { return s.VmStk }),
	memory("proc.memory.vmexe", func(s *procfs.Status) uint64 { return s.VmExe }),
	memory("proc.memory.vmlib", func(s *procfs.Status) uint64 { return s.VmLib }),
	memory("proc.memory.vmswap", func(s *procfs.Status) uint64 { return s.VmSwap }),
	memory("proc.memory.wired", func(s *procfs.Status) uint64 { return s.VmLck }),
	memory("proc.memory.anon", func(s *procfs.Status) uint64 { return s.RssAnon }),
	memory("proc.memory.share", func(s *procfs.Status) uint64 { return s.RssFile + s.RssShmem }),
}

var switchColumns = []column[reading]{
	{name: "proc.psinfo.vctxsw", number: func(r *reading) uint64 { return r.p.platform.switches.voluntary }},
	{name: "proc.psinfo.nvctxsw", number: func(r *reading) uint64 { return r.p.platform.switches.forced }},
	{name: "proc.psinfo.pswitch", number: func(r *reading) uint64 { return r.p.platform.switches.voluntary + r.p.platform.switches.forced }},
}

var ioColumns = []column[reading]{
	{name: "proc.io.rchar", number: func(r *reading) uint64 { return r.p.platform.ownIO.RChar }},
	{name: "proc.io.wchar", number: func(r *reading) uint64 { return r.p.platform.ownIO.WChar }},
	{name: "proc.io.logical_writes", number: func(r *reading) uint64 { return r.p.platform.ownIO.WChar }},
	{name: "proc.io.syscr", number: func(r *reading) uint64 { return r.p.platform.ownIO.SyscR }},
	{name: "proc.io.syscw", number: func(r *reading) uint64 { return r.p.platform.ownIO.SyscW }},
	{name: "proc.io.read_bytes", number: func(r *reading) uint64 { return r.p.platform.ownIO.ReadBytes }},
	{name: "proc.io.write_bytes", number: func(r *reading) uint64 { return r.p.platform.ownIO.WriteBytes }},
	{name: "proc.io.cancelled_write_bytes", number: func(r *reading) uint64 { return r.p.platform.ownIO.CancelledWrite }},
	{name: "proc.io.inherited_read_bytes", number: func(r *reading) uint64 { return r.p.platform.fromChildren().ReadBytes }, missing: (*reading).inheritedMissing},
	{name: "proc.io.inherited_write_bytes", number: func(r *reading) uint64 { return r.p.platform.fromChildren().WriteBytes }, missing: (*reading).inheritedMissing},
}

var schedColumns = []column[reading]{
	{name: "proc.schedstat.cpu_time", number: func(r *reading) uint64 { return r.p.platform.sched.Running }},
	{name: "proc.schedstat.run_delay", number: func(r *reading) uint64 { return r.p.platform.sched.Waiting }},
	{name: "proc.schedstat.pcount", number: func(r *reading) uint64 { return r.p.platform.sched.Turns }},
	{name: "proc.cpu.runnable_time", number: func(r *reading) uint64 { return r.p.platform.sched.Running + r.p.platform.sched.Waiting }},
}

var smapsColumns = []column[reading]{
	{name: "proc.memory.footprint", number: func(r *reading) uint64 { return r.p.platform.footprint.PSS }},
	{name: "proc.smaps.rss", number: func(r *reading) uint64 { return r.p.platform.footprint.RSS }},
	{name: "proc.smaps.pss", number: func(r *reading) uint64 { return r.p.platform.footprint.PSS }},
	{name: "proc.smaps.shared_clean", number: func(r *reading) uint64 { return r.p.platform.footprint.SharedClean }},
	{name: "proc.smaps.shared_dirty", number: func(r *reading) uint64 { return r.p.platform.footprint.SharedDirty }},
	{name: "proc.smaps.private_clean", number: func(r *reading) uint64 { return r.p.platform.footprint.PrivateClean }},
	{name: "proc.smaps.private_dirty", number: func(r *reading) uint64 { return r.p.platform.footprint.PrivateDirty }},
	{name: "proc.smaps.swap", number: func(r *reading) uint64 { return r.p.platform.footprint.Swap }},
	{name: "proc.smaps.swappss", number: func(r *reading) uint64 { return r.p.platform.footprint.SwapPSS }},
}

var descriptorColumns = []column[reading]{
	{name: "proc.fd.count", number: func(r *reading) uint64 { return r.p.platform.opened.count }},
	{name: "proc.fd.limit", number: func(r *reading) uint64 { return r.mayOpen },
		missing: func(r *reading) metric.Reason { return r.limitWhy }},
	{name: "proc.net.tcp_count", number: func(r *reading) uint64 { return r.tcp },
		missing: func(r *reading) metric.Reason { return r.socketWhy }},
	{name: "proc.net.udp_count", number: func(r *reading) uint64 { return r.udp },
		missing: func(r *reading) metric.Reason { return r.socketWhy }},
}
