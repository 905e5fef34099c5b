package darwintest

import (
	"fmt"
	"math"
	"math/bits"
	"path"
	"strings"

	"tachograph/sample/catalog"
)

// ExpectProcesses computes the value of every metric of processes, for a recorder that runs as
// root. Instances have the names of the metrics' domain: the pid with six digits, a blank, the
// name.
func (w *World) ExpectProcesses(args bool) *Expectation {
	x := &expecting{w, Expectation{make(map[Series]string), make(map[string]bool), make(map[string]bool)}}
	x.World.number()
	// The names of users and terminals are those of the simulating machine.
	for _, m := range []string{"proc.id.uid_nm", "proc.id.euid_nm", "proc.id.suid_nm", "proc.id.gid_nm", "proc.psinfo.ttyname"} {
		x.Free[m] = true
	}
	// Tests of their source are about coalitions, and about the owners of processes, whose names they have.
	for _, prefix := range []string{"coalition.", "proc.owner.", "owner.", "network.persocket.", "network.listener.", "network.traffic.unnamed", "system.report."} {
		for _, d := range catalog.Prefix(catalog.Darwin, prefix) {
			x.Free[d.Name] = true
		}
	}
	states := map[string]uint64{"R": 1} // the recorder itself
	total := uint64(1)
	for _, p := range x.processes {
		if p.self || !p.alive(x.T) {
			continue
		}
		total++
		states[x.process(p, args)]++
	}
	x.u("proc.nprocs", "", total)
	x.u("proc.runq.runnable", "", states["R"])
	x.u("proc.runq.sleeping", "", states["S"]+states["I"])
	x.u("proc.runq.stopped", "", states["T"])
	x.u("proc.runq.defunct", "", states["Z"])
	x.u("proc.runq.unknown", "", 0)
	x.u("proc.control.all.threads", "", 0)
	x.u("proc.control.perclient.threads", "", 0)
	// The events since the first sweep: while time stands still there are none.
	for _, m := range []string{"proc.started", "proc.exited", "proc.unseen", "proc.unrecorded", "proc.unread"} {
		x.u(m, "", 0)
	}
	x.transfers()
	return &x.Expectation
}

// of is a field of the process; absent is the host's value if the scenario does not set it.
func (x *expecting) of(p *process, field string, absent int64) int64 {
	if e := p.fields[field]; e != nil {
		return e.at(x.T).n
	}
	return absent
}

// throughTicks converts nanoseconds to the kernel's unit and back.
func (x *expecting) throughTicks(ns int64) uint64 {
	numer, denom := uint64(x.numer), uint64(x.denom)
	hi, lo := bits.Mul64(uint64(ns), denom)
	ticks, _ := bits.Div64(hi, lo, numer)
	return x.nanoseconds(ticks)
}

func (x *expecting) nanoseconds(ticks uint64) uint64 {
	hi, lo := bits.Mul64(ticks, uint64(x.numer))
	ns, _ := bits.Div64(hi, lo, uint64(x.denom))
	return ns
}

// shown is the name of a process for people. The list has only its first 16 characters; the
// file's name is the full name if it begins like that.
func (p *process) shown() string {
	short := p.comm
	if short == "" {
		short = p.name
	}
	short = short[:min(16, len(short))]
	if file := path.Base(p.path); p.path != "" && strings.HasPrefix(file, short) {
		return file
	}
	return short
}

// process expects one process, and returns its state's letter.
func (x *expecting) process(p *process, args bool) string {
	in := fmt.Sprintf("%06d %s", p.pid, p.shown())
	u := func(metric string, v uint64) { x.u(metric, in, v) }
	i := func(metric string, v int64) { x.i(metric, in, v) }
	field := func(block map[string]*expr, name string, otherwise int64) int64 {
		if e := block[name]; e != nil {
			return e.at(x.T).n
		}
		return otherwise
	}
	state, running := x.of(p, "state", 2), int64(0)
	if state == 2 {
		running = 1
	}
	running = field(p.task, "pti_numrunning", x.of(p, "running", running))
	letter := map[int64]string{1: "I", 4: "T", 5: "Z"}[state]
	if letter == "" && running > 0 {
		letter = "R"
	} else if letter == "" {
		letter = "S"
	}
	x.set("proc.psinfo.sname", in, letter)

	u("proc.psinfo.pid", uint64(p.pid))
	u("proc.psinfo.tgid", uint64(p.pid))
	x.set("proc.psinfo.cmd", in, p.shown())
	u("proc.psinfo.ppid", uint64(uint32(x.of(p, "ppid", 1))))
	group := uint64(uint32(x.of(p, "pgid", p.pid)))
	u("proc.psinfo.pgid", group)
	u("proc.psinfo.pgrp", group)
	u("proc.psinfo.tty", uint64(uint32(p.tdev)))
	if p.tdev == -1 {
		x.set("proc.psinfo.ttyname", in, "?")
	}
	foreground := uint64(uint32(x.of(p, "tpgid", 0)))
	u("proc.psinfo.tpgid", foreground)
	u("proc.psinfo.tty_pgrp", foreground)
	i("proc.psinfo.nice", x.of(p, "nice", 0))
	flags := field(p.kinfo, "kp_proc.p_flag", x.of(p, "flags", 0x4004))
	u("proc.psinfo.translated", uint64(flags>>17&1))
	u("proc.psinfo.unique", p.unique)
	if p.parent != 0 {
		u("proc.psinfo.parent_unique", p.parent)
	}
	sinceBoot := int64(5_000_000)
	if p.start > longAgo {
		sinceBoot = int64((p.start + x.uptime + x.slept) * 1e6)
	}
	if x.wall != 0 {
		u("proc.psinfo.start_wall", uint64(int64((x.wall-x.uptime-x.slept)*1e6)+sinceBoot))
	} else {
		x.Free["proc.psinfo.start_wall"] = true
	}
	u("proc.psinfo.start_time", uint64(sinceBoot)*1000)
	if p.path != "" {
		x.set("proc.psinfo.exe", in, p.path)
	}
	if args && p.pid != 0 {
		list := p.args
		if list == nil {
			list = []string{p.name}
		}
		x.set("proc.psinfo.psargs", in, strings.Join(list, " "))
	}
	cwd := p.cwd
	if cwd == "" {
		cwd = "/"
	}
	x.set("proc.psinfo.cwd", in, cwd)
	uid, gid := x.of(p, "uid", 0), x.of(p, "gid", 0)
	i("proc.id.euid", uid)
	i("proc.id.uid", x.of(p, "ruid", uid))
	i("proc.id.suid", x.of(p, "svuid", uid))
	i("proc.id.gid", gid)
	i("proc.id.ngid", 1)

	x.taskInfo(p, in, running)
	x.usage(p, in)
	x.open(p, in)
	for _, t := range p.threads {
		x.thread(p, t)
	}
	return letter
}

func (x *expecting) taskInfo(p *process, in string, running int64) {
	u := func(metric string, v uint64) { x.u(metric, in, v) }
	task := func(name, field string, absent int64) int64 {
		if e := p.task[field]; e != nil {
			return e.at(x.T).n
		}
		return x.of(p, name, absent)
	}
	u("proc.psinfo.utime", x.throughTicks(x.of(p, "user_ns", 0)))
	u("proc.psinfo.stime", x.throughTicks(x.of(p, "system_ns", 0)))
	virtual := uint64(x.of(p, "vsize", 1<<32)) / 1024
	u("proc.memory.size", virtual)
	u("proc.memory.vmsize", virtual)
	u("proc.memory.rss", uint64(x.of(p, "rss", 4<<20))/1024)
	threads := int64(len(p.threads))
	if threads == 0 {
		threads = x.of(p, "threads", 1)
	}
	u("proc.psinfo.threads", uint64(threads))
	u("proc.psinfo.threads_running", uint64(running))
	u("proc.psinfo.priority", uint64(x.of(p, "priority", 31)))
	faults, pageins := task("faults", "pti_faults", 0), task("pageins", "pti_pageins", 0)
	u("proc.psinfo.faults", uint64(faults))
	// Beyond this value the kernel has stopped the count.
	if faults >= math.MaxInt32 {
		u("proc.psinfo.minflt", math.MaxInt32)
	} else {
		u("proc.psinfo.minflt", uint64(faults-min(faults, pageins)))
	}
	for metric, f := range map[string][2]string{
		"cow_faults": {"cow", "pti_cow_faults"}, "messages_sent": {"msg_sent", "pti_messages_sent"},
		"messages_received": {"msg_recv", "pti_messages_received"}, "syscalls_mach": {"syscalls_mach", "pti_syscalls_mach"},
		"syscalls_unix": {"syscalls_unix", "pti_syscalls_unix"}, "pswitch": {"csw", "pti_csw"},
	} {
		u("proc.psinfo."+metric, uint64(task(f[0], f[1], 0)))
	}
}

// usage expects the answers of proc_pid_rusage. A count that is zero for all processes is one
// that this machine does not have.
func (x *expecting) usage(p *process, in string) {
	rusage := func(p *process, field, name string) (uint64, bool) {
		if e := p.rusage[field]; e != nil {
			return uint64(e.at(x.T).n), true
		}
		e := p.fields[name]
		if e == nil {
			return 0, false
		}
		return uint64(e.at(x.T).n), true
	}
	footprint := x.of(p, "footprint", x.of(p, "rss", 4<<20))
	x.i("proc.memory.footprint", in, footprint)
	x.i("proc.memory.footprint_max", in, x.of(p, "footprint_peak", footprint))
	plain := func(metric, field, name string) {
		v, _ := rusage(p, field, name)
		x.u(metric, in, v)
	}
	plain("proc.memory.wired", "ri_wired_size", "wired")
	plain("proc.io.read_bytes", "ri_diskio_bytesread", "disk_read")
	plain("proc.io.write_bytes", "ri_diskio_byteswritten", "disk_write")
	plain("proc.io.logical_writes", "ri_logical_writes", "logical_writes")
	plain("proc.psinfo.majflt", "ri_pageins", "pageins")
	plain("proc.psinfo.maj_flt", "ri_pageins", "pageins")
	plain("proc.wakeups.interrupt", "ri_interrupt_wkups", "int_wkups")
	plain("proc.wakeups.idle", "ri_pkg_idle_wkups", "idle_wkups")
	plain("proc.energy.billed", "ri_billed_energy", "")
	plain("proc.energy.serviced", "ri_serviced_energy", "")
	for metric, field := range map[string]string{
		"proc.psinfo.cutime": "ri_child_user_time", "proc.psinfo.cstime": "ri_child_system_time",
		"proc.cpu.qos.default": "ri_cpu_time_qos_default", "proc.cpu.qos.maintenance": "ri_cpu_time_qos_maintenance",
		"proc.cpu.qos.background": "ri_cpu_time_qos_background", "proc.cpu.qos.utility": "ri_cpu_time_qos_utility",
		"proc.cpu.qos.legacy": "ri_cpu_time_qos_legacy", "proc.cpu.qos.user_initiated": "ri_cpu_time_qos_user_initiated",
		"proc.cpu.qos.user_interactive": "ri_cpu_time_qos_user_interactive", "proc.cpu.billed_system_time": "ri_billed_system_time",
		"proc.cpu.serviced_system_time": "ri_serviced_system_time", "proc.cpu.runnable_time": "ri_runnable_time",
	} {
		v, _ := rusage(p, field, "")
		x.u(metric, in, x.nanoseconds(v))
	}
	anybody := func(field, name string) bool {
		for _, q := range x.processes {
			if v, ok := rusage(q, field, name); ok && v > 0 && q.alive(x.T) {
				return true
			}
		}
		return false
	}
	if anybody("ri_instructions", "instructions") {
		plain("proc.cpu.instructions", "ri_instructions", "instructions")
		plain("proc.cpu.cycles", "ri_cycles", "cycles")
	}
	if anybody("ri_energy_nj", "energy_nj") {
		plain("proc.energy.cpu", "ri_energy_nj", "energy_nj")
		plain("proc.energy.pcore", "ri_penergy_nj", "")
	}
	if anybody("ri_user_ptime", "") || anybody("ri_system_ptime", "") || anybody("ri_pinstructions", "") {
		plain("proc.cpu.pcore.instructions", "ri_pinstructions", "")
		plain("proc.cpu.pcore.cycles", "ri_pcycles", "")
		for metric, field := range map[string]string{"utime": "ri_user_ptime", "stime": "ri_system_ptime"} {
			v, _ := rusage(p, field, "")
			x.u("proc.cpu.pcore."+metric, in, x.nanoseconds(v))
		}
	}
}

// open expects the descriptors of a process. If the scenario gives only their number, they are
// files and, from the fourth on, sockets of no kind.
func (x *expecting) open(p *process, in string) {
	count := uint64(3)
	if p.descriptors != nil {
		count = uint64(len(p.descriptors))
	} else if e := p.fields["fds"]; e != nil {
		count = uint64(e.at(x.T).n)
	}
	x.u("proc.fd.count", in, count)
	var tcp, udp uint64
	for _, d := range p.descriptors {
		field := func(name string) int64 {
			if e := d.fields[name]; e != nil {
				return e.at(x.T).n
			}
			return 0
		}
		switch {
		case d.kind != "socket":
		case field("psi.soi_kind") == 2 && field("psi.soi_protocol") == 6:
			tcp++
		case field("psi.soi_kind") == 1 && field("psi.soi_protocol") == 17:
			udp++
		}
	}
	x.u("proc.net.tcp_count", in, tcp)
	x.u("proc.net.udp_count", in, udp)
}

// thread expects one of the threads that the scenario describes.
func (x *expecting) thread(p *process, t *thing) {
	id, _ := number(t.name)
	name := ""
	if e := t.fields["name"]; e != nil {
		name = e.at(x.T).text
	}
	in := strings.TrimRight(fmt.Sprintf("%06d/%06d %s", p.pid, id.n, name), " ")
	field := func(name string, absent int64) int64 {
		if e := t.fields[name]; e != nil {
			return e.at(x.T).n
		}
		return absent
	}
	x.i("thread.pid", in, p.pid)
	x.i("thread.tid", in, id.n)
	x.set("thread.name", in, name)
	x.set("thread.sname", in, map[int64]string{1: "R", 2: "T", 3: "S", 4: "D"}[field("state", 3)])
	// The kernel counts whole microseconds.
	x.i("thread.utime", in, field("user_ns", 0)/1000*1000)
	x.i("thread.stime", in, field("system_ns", 0)/1000*1000)
	x.i("thread.priority", in, field("priority", 31))
	x.i("thread.base_priority", in, field("priority", 31))
	x.i("thread.cpu_usage", in, field("cpu_usage", 0))
	x.i("thread.policy", in, 1)
	x.i("thread.sleep_time", in, 0)
}
