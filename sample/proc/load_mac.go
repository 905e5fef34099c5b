package proc

import (
	"strconv"
	"syscall"

	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/proc/libproc"
)

var (
	notOurs   = metric.Permission
	noZombie  = metric.ReasonFor("has ended and has no memory or threads any more")
	noCounter = metric.ReasonFor("this machine's processor does not count it")
)

func macReason(errno syscall.Errno) metric.Reason {
	switch errno {
	case 0:
		return metric.Present
	case syscall.EPERM, syscall.EACCES:
		return metric.Permission
	case syscall.ESRCH, syscall.ENOENT:
		return metric.Vanished
	case syscall.ENOTSUP:
		return metric.Unsupported
	}
	return metric.ReasonFor(errno.Error())
}

// load reads what the list does not hold: two calls per process. After a refusal it does not
// ask again, unless the process has got another user.
func (m *macKernel) load(p *process[macProcess]) {
	q := &p.platform
	q.taskWhy, q.usageWhy = metric.NotRead, metric.NotRead
	uid, _ := libproc.KUID.Uint(q.record)
	if q.refusedAs == uid+1 {
		q.taskWhy, q.usageWhy = notOurs, notOurs
		return
	}
	if q.zombie {
		q.taskWhy = noZombie
	} else if m.wantTask {
		m.loadTask(p)
	}
	switch {
	case p.final:
		q.usageWhy = metric.Present // it does not change any more
	case m.wantUsage:
		m.loadUsage(p)
	}
	if q.taskWhy == notOurs && (q.usageWhy == notOurs || !m.wantUsage) {
		q.refusedAs = uid + 1
	}
}

func (m *macKernel) loadTask(p *process[macProcess]) {
	q := &p.platform
	if q.task == nil {
		q.task = make([]byte, libproc.TaskAllSize)
	}
	n, errno := m.calls.Info(p.pid, libproc.PIDTaskAllInfo, 0, q.task)
	q.taskWhy = macReason(errno)
	if errno != 0 {
		return
	}
	sec, _ := libproc.TStartSec.Uint(q.task)
	micro, _ := libproc.TStartMicro.Uint(q.task)
	switch {
	case n < libproc.TaskAllSize:
		q.taskWhy = metric.Unsupported
	case int64(sec*1e6+micro) != q.micros:
		q.taskWhy = metric.Vanished // another process has its pid by now
	default:
		user, _ := libproc.TUser.Uint(q.task)
		system, _ := libproc.TSystem.Uint(q.task)
		running, _ := libproc.TThreads.Uint(q.task)
		p.cpu, p.threads = user+system, int(running)
	}
}

func (m *macKernel) loadUsage(p *process[macProcess]) {
	q := &p.platform
	if q.usage == nil {
		q.usage = make([]byte, libproc.RusageSize(m.flavour))
	}
	before := m.hardwareOf(q.usage)
	errno := m.readUsage(p.pid, &q.usage)
	q.usageWhy = macReason(errno)
	if errno != 0 {
		return
	}
	if start, _ := libproc.UStart.Uint(q.usage); p.begin == 0 || q.taskWhy == metric.Present {
		p.begin = start
	} else if start != p.begin {
		q.usageWhy = metric.Vanished // another process has its pid by now
		return
	}
	m.usage.lookForCounters(q.usage)
	if now := m.hardwareOf(q.usage); now.start == before.start {
		m.compare(before, now)
	}
}

// readUsage asks for the newest flavour that the kernel knows. The answer is as long as that
// flavour, so the fields of newer ones are absent.
func (m *macKernel) readUsage(pid int32, buf *[]byte) syscall.Errno {
	for {
		*buf = (*buf)[:libproc.RusageSize(m.flavour)]
		errno := m.calls.Usage(pid, m.flavour, *buf)
		if errno != syscall.EINVAL || m.flavour == 0 {
			return errno
		}
		m.flavour--
	}
}

// state returns the letter of a process's state, '?' if the kernel tells it only to its owner.
func (m *macKernel) state(p *process[macProcess]) byte {
	q := &p.platform
	running := uint64(0)
	if q.taskWhy == metric.Present {
		running, _ = libproc.TRunning.Uint(q.task)
	}
	s := q.record.State(running)
	if s == 'S' && q.taskWhy != metric.Present {
		return '?'
	}
	return s
}

func (m *macKernel) readExe(p *process[macProcess]) {
	q := &p.platform
	b := m.scratch(libproc.PathSize) // a longer buffer is refused
	n, errno := m.calls.Path(p.pid, b)
	q.exe, q.exeWhy = "", macReason(errno)
	if errno == 0 {
		q.exe = string(b[:n])
	} else if q.exeWhy == metric.Vanished && p.pid == 0 {
		q.exeWhy = metric.Unsupported // the kernel itself has no file
	}
}

// argumentSpace is how many bytes of the arguments are asked for: the kernel cuts off the rest,
// which would be too long to be read by people.
const argumentSpace = 64 << 10

func (m *macKernel) readArgs(p *process[macProcess]) {
	q := &p.platform
	q.args, q.argsWhy = "", argsOff
	if m.opt.Args == cmdline.Off {
		return
	}
	b := m.scratch(argumentSpace)
	n, errno := m.calls.Arguments(p.pid, b)
	switch {
	case errno == syscall.EINVAL:
		q.argsWhy = metric.Permission // what the kernel says for other users' processes
	case errno != 0:
		q.argsWhy = macReason(errno)
	default:
		b = b[:min(n, len(b))]
		q.job = libproc.Variable(b, "XPC_SERVICE_NAME")
		if q.exe == "" {
			q.given = libproc.GivenPath(b)
		}
		argv, ok := libproc.Arguments(b)
		if !ok {
			q.argsWhy = metric.Unsupported
			return
		}
		q.args, q.argsWhy = cmdline.Render(m.opt.Args, argv), metric.Present
	}
}

// hear takes in the end of a process, or an exec.
func (m *macKernel) hear(e *macEvent) {
	p := m.whose(e)
	switch {
	case p == nil:
	case e.exec:
		p.execAt = e.at
	default:
		end := *e
		p.platform.end = &end
		if e.usage != nil && isOf(p, e.usage) {
			p.platform.usage, p.final = e.usage, true
		}
	}
}

// whose finds the process an event is about: one that has or had the pid.
func (m *macKernel) whose(e *macEvent) *process[macProcess] {
	for _, p := range m.table.gone {
		if p.pid == e.pid && p.platform.end == nil {
			return p
		}
	}
	if p := m.table.lookup(e.pid); p != nil && p.platform.end == nil {
		return p
	}
	return nil
}

func (m *macKernel) ending(p *process[macProcess], now metric.Stamp) ending {
	q := &p.platform
	e := ending{at: now}
	if q.end != nil {
		e.at, e.exact = q.end.at, true
		e.known, e.status, e.cause, e.idle = q.end.known, q.end.status, q.end.cause, q.end.idle
	}
	if p.final {
		m.eachTotal(p, func(name string, v uint64) {
			e.more = append(e.more, metric.Label{Name: name, Value: strconv.FormatUint(v, 10)})
		})
	}
	if !e.known && q.zombie {
		v, ok := libproc.KExitStatus.Uint(q.record)
		e.known, e.status = ok && v != 0, int(v)
	}
	return e
}

func (m *macKernel) fillTotals(p *process[macProcess], row cells) { m.eachTotal(p, row.set) }

// eachTotal calls each with the totals in the last usage of a dead process: all of its counters
// and peaks.
func (m *macKernel) eachTotal(p *process[macProcess], each func(name string, v uint64)) {
	r := m.reading(p)
	for _, c := range macFinal {
		each(c.name, c.number(r))
	}
	for _, c := range m.columns[macUsagePart].columns {
		if c.name == "proc.memory.footprint" || c.name == "proc.memory.wired" {
			continue // a zombie has no memory left
		}
		if v, why := c.value(r); why == metric.Present {
			each(c.name, v)
		}
	}
}

// isOf reports whether usage is p's, and not that of a later process with its pid.
func isOf(p *process[macProcess], usage []byte) bool {
	start, _ := libproc.UStart.Uint(usage)
	return p.begin == 0 || p.begin == start
}

func (r *macReading) loadCwd() metric.Reason {
	b := r.m.scratch(libproc.VnodePathSize)
	n, errno := r.m.calls.Info(r.p.pid, libproc.PIDVnodePathInfo, 0, b)
	if errno != 0 {
		return macReason(errno)
	}
	path, ok := libproc.Cwd(b[:n])
	if !ok {
		return metric.Unsupported
	}
	if q := &r.p.platform; q.cwd != string(path) {
		q.cwd = string(path)
	}
	return metric.Present
}

// loadDescriptors counts the open files of a process; each socket takes a call.
func (r *macReading) loadDescriptors() metric.Reason {
	r.fds, r.tcp, r.udp, r.sock = 0, 0, 0, metric.Present
	if r.p.platform.refusedAs != 0 {
		return notOurs
	}
	list, errno := r.m.listOf(r.p.pid, libproc.PIDListFDs)
	if errno != 0 {
		return macReason(errno)
	}
	r.m.sockets = r.m.sockets[:0]
	r.fds = uint64(libproc.Descriptors(list, func(fd int32) { r.m.sockets = append(r.m.sockets, fd) }))
	if !r.m.wantSockets {
		return metric.Present
	}
	b := r.m.scratch(libproc.SocketSize)
	for _, fd := range r.m.sockets {
		n, errno := r.m.calls.Socket(r.p.pid, fd, b)
		switch {
		case errno == syscall.EBADF || errno == syscall.ENOENT || errno == syscall.EOPNOTSUPP:
			continue // closed in the meantime
		case errno != 0:
			r.sock = macReason(errno)
			return metric.Present
		case n < libproc.SocketSize:
			r.sock = metric.Unsupported
			return metric.Present
		}
		tcp, udp := libproc.SocketKind(b)
		if tcp {
			r.tcp++
		}
		if udp {
			r.udp++
		}
	}
	return metric.Present
}

// scratch returns a buffer for one answer, valid until the next call.
func (m *macKernel) scratch(n int) []byte {
	if len(m.buf) < n {
		m.buf = make([]byte, n)
	}
	return m.buf[:n]
}

// listOf reads a list that may grow while it is being read: if the buffer was filled to the
// end, it may have been too short.
func (m *macKernel) listOf(pid, flavour int32) ([]byte, syscall.Errno) {
	if m.lists == nil {
		m.lists = make([]byte, 8<<10)
	}
	for range 4 {
		n, errno := m.calls.List(pid, flavour, m.lists)
		if errno != 0 {
			return nil, errno
		}
		if n < len(m.lists) {
			return m.lists[:n], 0
		}
		m.lists = make([]byte, 2*len(m.lists))
	}
	return nil, syscall.ENOMEM
}
