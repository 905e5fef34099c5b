package proc

import (
	"runtime"
	"strings"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/libproc"
)

// macReading is the process whose row is being filled. It is reused for each row.
type macReading struct {
	m             *macKernel
	p             *process[macProcess]
	fds, tcp, udp uint64
	sock          metric.Reason
}

func (r *macReading) rec() libproc.Process { return r.p.platform.record }

// answered is a struct that the kernel has filled in, as the leaves of a table.
type answered struct {
	rows.Struct
	funcs map[string]rows.Func
	// counts holds, for each leaf, the hardware that counts it; nil if every machine's kernel
	// does.
	counts []*hardware
}

func (a *answered) Leaf(i int) rows.Value {
	v := a.Struct.Leaf(i)
	if c := a.counts[i]; c != nil && v.Miss == metric.Present {
		v.Miss = c.absent()
	}
	return v
}

// answers returns the table of an instance domain's metrics whose source is this question, and
// the struct with the answer.
func (m *macKernel) answers(indom, question string) (*rows.Table, *answered) {
	funcs := map[string]rows.Func{
		"time":       func(ticks, _ uint64) (uint64, bool) { return m.ticks.Nanoseconds(ticks), true },
		"unsigned":   func(v, _ uint64) (uint64, bool) { return uint64(uint32(v)), true },
		"minor":      func(faults, pageins uint64) (uint64, bool) { return minorFaults(faults, pageins), true },
		"translated": func(flag, _ uint64) (uint64, bool) { return libproc.Translated(flag), true },
	}
	t := rows.New(question, rows.Select(indom, question), 0, funcs)
	a := &answered{Struct: rows.Struct{Members: t.Members(runtime.GOARCH), Short: metric.Unsupported}, funcs: funcs}
	for _, l := range t.Leaves {
		a.counts = append(a.counts, m.counted[l.Word])
	}
	return t, a
}

// columnsOf returns the columns of a table; bytes returns the answer to read them from. Each of
// thousands of rows has a cell per column, so a column that is a struct member, or a function
// of one, is read without going through the table.
func columnsOf[R any](t *rows.Table, a *answered, bytes func(r *R) []byte) []column[R] {
	columns := make([]column[R], len(t.Group.Metrics))
	for i, d := range t.Group.Metrics {
		c, leaf := &columns[i], t.LeavesOf(i)[0]
		c.name, c.value = d.Name, func(r *R) (uint64, metric.Reason) {
			a.Answer = bytes(r)
			v := t.Value(i, 0, a)
			return v.Bits, v.Miss
		}
		word, member := t.Leaves[leaf].Word, a.Members[leaf].Field
		_, formula, _ := strings.Cut(d.Source, ": ")
		f := a.funcs[strings.TrimSuffix(formula, "("+word+")")]
		if formula == word {
			f = func(v, _ uint64) (uint64, bool) { return v, true }
		}
		if counted := a.counts[leaf]; f != nil {
			c.value = func(r *R) (uint64, metric.Reason) {
				v, ok := member.Uint(bytes(r))
				if !ok {
					return 0, a.Short
				}
				if counted != nil && counted.absent() != metric.Present {
					return 0, counted.absent()
				}
				v, _ = f(v, 0)
				return v, metric.Present
			}
		}
	}
	return columns
}

// macParts are the columns of macOS, the expensive ones last. Where the kernel answers with a
// struct, the catalog entry of a metric names the member.
func (m *macKernel) macParts() []supply[macReading] {
	list, record := m.answers(indom, "sysctl kern.proc.all ")
	info, task := m.answers(indom, "proc_pidinfo PROC_PIDTASKALLINFO ")
	rusage, usage := m.answers(indom, "proc_pid_rusage ")
	m.usage = usage
	return []supply[macReading]{
		{load: func(*macReading) metric.Reason { return metric.Present },
			columns: append(columnsOf(list, record, func(r *macReading) []byte { return r.rec() }), macListColumns...),
			lasting: func(_ *macReading, d *metric.Desc) bool { return lasting(d) }},
		{load: func(r *macReading) metric.Reason { return r.p.platform.taskWhy },
			columns: columnsOf(info, task, func(r *macReading) []byte { return r.p.platform.task })},
		{load: func(r *macReading) metric.Reason { return r.p.platform.usageWhy },
			columns: columnsOf(rusage, usage, func(r *macReading) []byte { return r.p.platform.usage })},
		{load: (*macReading).loadDescriptors, columns: []column[macReading]{
			{name: "proc.fd.count", number: func(r *macReading) uint64 { return r.fds }},
			{name: "proc.net.tcp_count", number: func(r *macReading) uint64 { return r.tcp }, missing: func(r *macReading) metric.Reason { return r.sock }},
			{name: "proc.net.udp_count", number: func(r *macReading) uint64 { return r.udp }, missing: func(r *macReading) metric.Reason { return r.sock }},
		}},
		{load: (*macReading).timesKnown, columns: macTimeColumns},
		{load: (*macReading).loadCwd, columns: []column[macReading]{
			{name: "proc.psinfo.cwd", text: func(r *macReading) string { return r.p.platform.cwd }},
		}},
		{load: func(*macReading) metric.Reason { return metric.Present },
			columns: ownerColumns(func(r *macReading) *owner.Owner { return r.p.owners() },
				owner.App, owner.Service, owner.Session, owner.Bundle, owner.Version, owner.Team),
			lasting: func(*macReading, *metric.Desc) bool { return true }},
	}
}

// Indexes into the result of macParts.
const (
	macTaskPart  = 1
	macUsagePart = 2
	macTimesPart = 4
)

func userColumn(name string, f *decode.Field) column[macReading] {
	return column[macReading]{name: name, text: func(r *macReading) string {
		v, _ := f.Uint(r.rec())
		return r.m.calls.UserName(uint32(v))
	}}
}

// macListColumns are the columns of the list that are more than one of its members.
var macListColumns = []column[macReading]{
	{name: "proc.psinfo.cmd", text: func(r *macReading) string { return r.p.name }},
	{name: "proc.psinfo.sname", text: func(r *macReading) string { return stateNames[r.m.state(r.p)] },
		missing: func(r *macReading) metric.Reason {
			if r.m.state(r.p) == '?' {
				return r.p.platform.taskWhy
			}
			return metric.Present
		}},
	{name: "proc.psinfo.ttyname", text: func(r *macReading) string { return r.terminal() }},
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
	userColumn("proc.id.uid_nm", libproc.KRealUID),
	userColumn("proc.id.euid_nm", libproc.KUID),
	userColumn("proc.id.suid_nm", libproc.KSavedUID),
	{name: "proc.id.gid", number: func(r *macReading) uint64 { return uint64(r.rec().EffectiveGID()) }},
	{name: "proc.id.gid_nm", text: func(r *macReading) string { return r.m.calls.GroupName(r.rec().EffectiveGID()) }},
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

// macTimeColumns are the CPU times of a process. Task info has them for living processes,
// rusage for zombies as well.
var macTimeColumns = []column[macReading]{
	{name: "proc.psinfo.utime", number: func(r *macReading) uint64 { return r.time(libproc.TUser, libproc.UUser) }},
	{name: "proc.psinfo.stime", number: func(r *macReading) uint64 { return r.time(libproc.TSystem, libproc.USystem) }},
}

func (r *macReading) time(task, usage *decode.Field) uint64 {
	q := &r.p.platform
	ticks, _ := usage.Uint(q.usage)
	if q.taskWhy == metric.Present {
		ticks, _ = task.Uint(q.task)
	}
	return r.m.ticks.Nanoseconds(ticks)
}

func (r *macReading) timesKnown() metric.Reason {
	if q := &r.p.platform; q.taskWhy != noZombie || q.usageWhy != metric.Present {
		return q.taskWhy
	}
	return metric.Present
}

// minorFaults returns the faults that read no page. Once the kernel has stopped counting all
// faults at its limit, the difference would shrink, so it stays at the limit too.
func minorFaults(all, pageins uint64) uint64 {
	if all >= libproc.ClampLimit {
		return libproc.ClampLimit
	}
	return all - min(all, pageins)
}

// macFinal are the CPU times in a process's last totals. The other last totals come from the
// rusage table; rusage has the CPU times as well.
var macFinal = []column[macReading]{
	{name: "proc.psinfo.utime", number: func(r *macReading) uint64 { return r.lastTime(libproc.UUser) }},
	{name: "proc.psinfo.stime", number: func(r *macReading) uint64 { return r.lastTime(libproc.USystem) }},
}

func (r *macReading) lastTime(usage *decode.Field) uint64 {
	ticks, _ := usage.Uint(r.p.platform.usage)
	return r.m.ticks.Nanoseconds(ticks)
}

var noParent = metric.ReasonFor("no parent that can be seen")
