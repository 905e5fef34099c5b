package proc

import (
	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

// macReading is the process whose row is being filled. It is used again for
// each.
type macReading struct {
	m             *macKernel
	p             *process[macProcess]
	fds, tcp, udp uint64
	sock          metric.Reason
}

func (r *macReading) rec() libproc.Process { return r.p.platform.record }

// parts of what macOS tells of a process, the dear ones last.
func macParts() []part[macReading] {
	return []part[macReading]{
		{load: func(*macReading) metric.Reason { return metric.Present }, columns: macListColumns,
			lasting: func(_ *macReading, d *metric.Desc) bool { return lasting(d) }},
		{load: func(r *macReading) metric.Reason { return r.p.platform.taskWhy }, columns: macTaskColumns},
		{load: func(r *macReading) metric.Reason { return r.p.platform.usageWhy }, columns: macUsageColumns},
		{load: (*macReading).loadDescriptors, columns: []column[macReading]{
			{name: "proc.fd.count", number: func(r *macReading) uint64 { return r.fds }},
			{name: "proc.net.tcp_count", number: func(r *macReading) uint64 { return r.tcp }, missing: func(r *macReading) metric.Reason { return r.sock }},
			{name: "proc.net.udp_count", number: func(r *macReading) uint64 { return r.udp }, missing: func(r *macReading) metric.Reason { return r.sock }},
		}},
		{load: (*macReading).timesKnown, columns: macTimeColumns},
		{load: (*macReading).loadCwd, columns: []column[macReading]{
			{name: "proc.psinfo.cwd", text: func(r *macReading) string { return r.p.platform.cwd }},
		}},
	}
}

// Places in what macParts returns.
const (
	macTaskPart  = 1
	macUsagePart = 2
	macTimesPart = 4
)

// listed is a column that the list of processes holds: everybody may see it.
func listed(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name, number: func(r *macReading) uint64 {
		v, _ := f.Uint(r.rec())
		return v
	}}
}

// unsigned cuts the sign of a field that is stored as an unsigned number.
func unsigned(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name, number: func(r *macReading) uint64 {
		v, _ := f.Uint(r.rec())
		return uint64(uint32(v))
	}}
}

func userColumn(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name, text: func(r *macReading) string {
		v, _ := f.Uint(r.rec())
		return r.m.calls.UserName(uint32(v))
	}}
}

var macListColumns = []column[macReading]{
	{name: "proc.psinfo.pid", number: func(r *macReading) uint64 { return uint64(r.p.pid) }},
	{name: "proc.psinfo.tgid", number: func(r *macReading) uint64 { return uint64(r.p.pid) }},
	{name: "proc.psinfo.cmd", text: func(r *macReading) string { return r.p.name }},
	{name: "proc.psinfo.sname", text: func(r *macReading) string { return stateNames[r.m.state(r.p)] },
		missing: func(r *macReading) metric.Reason {
			if r.m.state(r.p) == '?' {
				return r.p.platform.taskWhy
			}
			return metric.Present
		}},
	unsigned("proc.psinfo.ppid", libproc.KParent),
	unsigned("proc.psinfo.pgid", libproc.KGroup),
	unsigned("proc.psinfo.pgrp", libproc.KGroup),
	unsigned("proc.psinfo.tty", libproc.KTTY),
	{name: "proc.psinfo.ttyname", text: func(r *macReading) string { return r.terminal() }},
	unsigned("proc.psinfo.tpgid", libproc.KTTYGroup),
	unsigned("proc.psinfo.tty_pgrp", libproc.KTTYGroup),
	listed("proc.psinfo.nice", libproc.KNice),
	{name: "proc.psinfo.translated", number: func(r *macReading) uint64 {
		if r.rec().Translated() {
			return 1
		}
		return 0
	}},
	{name: "proc.psinfo.start_time", number: func(r *macReading) uint64 { return r.p.platform.started }},
	{name: "proc.psinfo.start_wall", number: func(r *macReading) uint64 { return uint64(r.p.platform.micros) }},
	{name: "proc.psinfo.unique", number: func(r *macReading) uint64 { return r.p.start }},
	{name: "proc.psinfo.parent_unique", number: func(r *macReading) uint64 { return r.p.platform.parent },
		missing: func(r *macReading) metric.Reason {
			if r.p.platform.parent == 0 {
				return noParent
			}
			return metric.Present
		}},
	{name: "proc.psinfo.exe", text: func(r *macReading) string { return r.p.platform.exe },
		missing: func(r *macReading) metric.Reason { return r.p.platform.exeWhy }},
	{name: "proc.psinfo.psargs", text: func(r *macReading) string { return r.p.platform.args },
		missing: func(r *macReading) metric.Reason { return r.p.platform.argsWhy }},
	listed("proc.id.uid", libproc.KRealUID),
	userColumn("proc.id.uid_nm", libproc.KRealUID),
	listed("proc.id.euid", libproc.KUID),
	userColumn("proc.id.euid_nm", libproc.KUID),
	listed("proc.id.suid", libproc.KSavedUID),
	userColumn("proc.id.suid_nm", libproc.KSavedUID),
	{name: "proc.id.gid", number: func(r *macReading) uint64 { return uint64(r.rec().EffectiveGID()) }},
	{name: "proc.id.gid_nm", text: func(r *macReading) string { return r.m.calls.GroupName(r.rec().EffectiveGID()) }},
	listed("proc.id.ngid", libproc.KGroupCount),
}

func (r *macReading) terminal() string {
	dev, ok := r.rec().Terminal()
	if !ok {
		return "?"
	}
	q := &r.p.platform
	if q.tty == "" || q.ttyDev != dev {
		q.tty, q.ttyDev = r.m.calls.TerminalName(dev), dev
	}
	return q.tty
}

// task is a column from task info, as the kernel counts it.
func task(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name, number: func(r *macReading) uint64 { return r.task(f) }}
}

func (r *macReading) task(f *decode.Field) uint64 {
	v, _ := f.Uint(r.p.platform.task)
	return v
}

func kib(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name, number: func(r *macReading) uint64 { return r.task(f) / 1024 }}
}

var macTaskColumns = []column[macReading]{
	kib("proc.memory.size", libproc.TVirtual),
	kib("proc.memory.vmsize", libproc.TVirtual),
	kib("proc.memory.rss", libproc.TResident),
	task("proc.psinfo.threads", libproc.TThreads),
	task("proc.psinfo.threads_running", libproc.TRunning),
	task("proc.psinfo.priority", libproc.TPriority),
	task("proc.psinfo.faults", libproc.TFaults),
	{name: "proc.psinfo.minflt", number: func(r *macReading) uint64 {
		return minorFaults(r.task(libproc.TFaults), r.task(libproc.TPageins))
	}},
	task("proc.psinfo.cow_faults", libproc.TCowFaults),
	task("proc.psinfo.messages_sent", libproc.TMessagesOut),
	task("proc.psinfo.messages_received", libproc.TMessagesIn),
	task("proc.psinfo.syscalls_mach", libproc.TMachCalls),
	task("proc.psinfo.syscalls_unix", libproc.TUnixCalls),
	task("proc.psinfo.pswitch", libproc.TSwitches),
}

// macTimeColumns are what a process has computed. Task info tells it of the
// living, rusage of a zombie as well.
var macTimeColumns = []column[macReading]{
	{name: "proc.psinfo.utime", number: func(r *macReading) uint64 { return r.time(libproc.TUser, libproc.UUser) }},
	{name: "proc.psinfo.stime", number: func(r *macReading) uint64 { return r.time(libproc.TSystem, libproc.USystem) }},
}

func (r *macReading) time(task, usage *decode.Field) uint64 {
	if r.p.platform.taskWhy == metric.Present {
		return r.m.ticks.Nanoseconds(r.task(task))
	}
	return r.m.ticks.Nanoseconds(r.used(usage))
}

func (r *macReading) timesKnown() metric.Reason {
	if q := &r.p.platform; q.taskWhy != noZombie || q.usageWhy != metric.Present {
		return q.taskWhy
	}
	return metric.Present
}

// minorFaults are the faults that read no page. Where the kernel has stopped
// counting all faults, the difference would shrink from then on: it stops too.
func minorFaults(all, pageins uint64) uint64 {
	if all >= libproc.ClampLimit {
		return libproc.ClampLimit
	}
	return all - min(all, pageins)
}

// used is a column from rusage; a field that this kernel's flavour does not
// have is missing.
func used(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name,
		number:  func(r *macReading) uint64 { return r.used(f) },
		missing: func(r *macReading) metric.Reason { return r.lacks(f) },
	}
}

func usedTicks(name string, f *decode.Field) column[macReading] {
	c := used(name, f)
	c.number = func(r *macReading) uint64 { return r.m.ticks.Nanoseconds(r.used(f)) }
	return c
}

func (r *macReading) used(f *decode.Field) uint64 {
	v, _ := f.Uint(r.p.platform.usage)
	return v
}

func (r *macReading) lacks(f *decode.Field) metric.Reason {
	if len(r.p.platform.usage) < f.Off+f.Size {
		return metric.Unsupported
	}
	return metric.Present
}

// ifCounted makes a column missing on machines whose processors do not count.
func ifCounted(c column[macReading], counted func(m *macKernel) bool) column[macReading] {
	lacks := c.missing
	c.missing = func(r *macReading) metric.Reason {
		if why := lacks(r); why != metric.Present {
			return why
		}
		if !counted(r.m) {
			return noCounter
		}
		return metric.Present
	}
	return c
}

func hasCounters(m *macKernel) bool { return m.counters }
func hasEnergy(m *macKernel) bool   { return m.energy }
func hasClusters(m *macKernel) bool { return m.clusters }

var macUsageColumns = []column[macReading]{
	used("proc.memory.footprint", libproc.UFootprint),
	used("proc.memory.footprint_max", libproc.UFootprintMax),
	used("proc.memory.wired", libproc.UWired),
	used("proc.io.read_bytes", libproc.UDiskRead),
	used("proc.io.write_bytes", libproc.UDiskWritten),
	used("proc.io.logical_writes", libproc.ULogicalWrites),
	used("proc.psinfo.majflt", libproc.UPageins),
	used("proc.psinfo.maj_flt", libproc.UPageins),
	used("proc.wakeups.interrupt", libproc.UIntWakeups),
	used("proc.wakeups.idle", libproc.UIdleWakeups),
	usedTicks("proc.psinfo.cutime", libproc.UChildUser),
	usedTicks("proc.psinfo.cstime", libproc.UChildSystem),
	usedTicks("proc.cpu.qos.default", libproc.UQosDefault),
	usedTicks("proc.cpu.qos.maintenance", libproc.UQosMaint),
	usedTicks("proc.cpu.qos.background", libproc.UQosBackground),
	usedTicks("proc.cpu.qos.utility", libproc.UQosUtility),
	usedTicks("proc.cpu.qos.legacy", libproc.UQosLegacy),
	usedTicks("proc.cpu.qos.user_initiated", libproc.UQosInitiated),
	usedTicks("proc.cpu.qos.user_interactive", libproc.UQosInteract),
	usedTicks("proc.cpu.billed_system_time", libproc.UBilledTime),
	usedTicks("proc.cpu.serviced_system_time", libproc.UServicedTime),
	usedTicks("proc.cpu.runnable_time", libproc.URunnable),
	ifCounted(used("proc.cpu.instructions", libproc.UInstructions), hasCounters),
	ifCounted(used("proc.cpu.cycles", libproc.UCycles), hasCounters),
	ifCounted(usedTicks("proc.cpu.pcore.utime", libproc.UPUser), hasClusters),
	ifCounted(usedTicks("proc.cpu.pcore.stime", libproc.UPSystem), hasClusters),
	ifCounted(used("proc.cpu.pcore.instructions", libproc.UPInstructions), hasClusters),
	ifCounted(used("proc.cpu.pcore.cycles", libproc.UPCycles), hasClusters),
	ifCounted(used("proc.energy.cpu", libproc.UEnergy), hasEnergy),
	ifCounted(used("proc.energy.pcore", libproc.UPEnergy), hasEnergy),
	used("proc.energy.billed", libproc.UBilledEnergy),
	used("proc.energy.serviced", libproc.UServicedEn),
}

// macFinal are the metrics that the last totals of a process hold, besides the
// counters of macUsageColumns: its CPU times, which rusage has as well.
var macFinal = []column[macReading]{
	usedTicks("proc.psinfo.utime", libproc.UUser),
	usedTicks("proc.psinfo.stime", libproc.USystem),
}

var noParent = metric.ReasonFor("no parent that can be seen")
