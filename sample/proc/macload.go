package proc

import (
	"slices"
	"syscall"

	"tachograph/sample"
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

// load reads what the list does not hold: two calls per process. What the
// kernel refuses it will refuse again, unless the process becomes another
// user's.
func (m *macTable) load(p *process[macProcess], wantTask, wantUsage bool) {
	q := &p.platform
	q.taskWhy, q.usageWhy = metric.NotRead, metric.NotRead
	uid, _ := libproc.KUID.Uint(q.record)
	if q.refusedAs == uid+1 {
		q.taskWhy, q.usageWhy = notOurs, notOurs
		return
	}
	if q.zombie {
		q.taskWhy = noZombie
	} else if wantTask {
		m.loadTask(p)
	}
	if wantUsage {
		m.loadUsage(p)
	}
	if q.taskWhy == notOurs && (q.usageWhy == notOurs || !wantUsage) {
		q.refusedAs = uid + 1
	}
}

func (m *macTable) loadTask(p *process[macProcess]) {
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
	}
}

func (m *macTable) loadUsage(p *process[macProcess]) {
	q := &p.platform
	if q.usage == nil {
		q.usage = make([]byte, libproc.RusageSize(m.flavour))
	}
	errno := m.readUsage(p.pid, &q.usage)
	q.usageWhy = macReason(errno)
	if errno != 0 {
		return
	}
	if start, _ := libproc.UStart.Uint(q.usage); q.begin == 0 || q.taskWhy == metric.Present {
		q.begin = start
	} else if start != q.begin {
		q.usageWhy = metric.Vanished // another process has its pid by now
		return
	}
	m.lookForCounters(q.usage)
}

// readUsage asks for the newest flavour that the kernel knows. What it answers
// is as long as that flavour, so that fields of newer ones are absent.
func (m *macTable) readUsage(pid int32, buf *[]byte) syscall.Errno {
	for {
		*buf = (*buf)[:libproc.RusageSize(m.flavour)]
		errno := m.calls.Usage(pid, m.flavour, *buf)
		if errno != syscall.EINVAL || m.flavour == 0 {
			return errno
		}
		m.flavour--
	}
}

// lookForCounters notes what this machine counts. The fields stand at zero for
// every process on a machine that does not, and zero would be a lie.
func (m *macTable) lookForCounters(usage []byte) {
	positive := func(f interface{ Uint([]byte) (uint64, bool) }) bool {
		v, ok := f.Uint(usage)
		return ok && v > 0
	}
	m.counters = m.counters || positive(libproc.UInstructions)
	m.energy = m.energy || positive(libproc.UEnergy)
	m.clusters = m.clusters || positive(libproc.UPUser) || positive(libproc.UPSystem) || positive(libproc.UPInstructions)
}

// state is the letter of a process's state, '?' where only its owner may know.
func (m *macTable) state(p *process[macProcess]) byte {
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

func (m *macTable) readExe(p *process[macProcess]) {
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

// argumentSpace is as much of the arguments as is asked for: the kernel cuts
// the end off, and nobody reads a megabyte.
const argumentSpace = 64 << 10

func (m *macTable) readArgs(p *process[macProcess]) {
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
		argv, ok := libproc.Arguments(b[:min(n, len(b))])
		if !ok {
			q.argsWhy = metric.Unsupported
			return
		}
		q.args, q.argsWhy = cmdline.Render(m.opt.Args, argv), metric.Present
	}
}

// hear takes in the end of a process, or an exec.
func (m *macTable) hear(e *macEvent) {
	if p := m.whose(e); p != nil {
		if e.exec {
			p.platform.execAt = e.at
		} else {
			end := *e
			p.platform.end = &end
		}
	}
}

// whose finds the process an event is about: who has the pid, or had it.
func (m *macTable) whose(e *macEvent) *process[macProcess] {
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

// farewell tells of the end of a process, once: when it is a zombie, or gone.
func (m *macTable) farewell(c *sample.Context, p *process[macProcess], now metric.Stamp) {
	q := &p.platform
	if q.told {
		return
	}
	q.told = true
	e := ending{at: now}
	if q.end != nil {
		e.at, e.exact = q.end.at, true
		e.known, e.status, e.cause = q.end.known, q.end.status, q.end.cause
		if usage := q.end.usage; usage != nil && q.isOf(usage) {
			q.usage = usage
			e.totals = m.totals(p)
			q.ended = true
		}
	}
	if !e.known && q.zombie {
		v, ok := libproc.KExitStatus.Uint(q.record)
		e.known, e.status = ok && v != 0, int(v)
	}
	emit(c, exitEvent(&p.instance, p.name, m.last, e))
}

// keepFinal sees to it that the last totals of a process that is gone get a
// row, unless one of its zombie has held them.
func (m *macTable) keepFinal(p *process[macProcess]) {
	if q := &p.platform; q.ended && !q.lastTold {
		q.record = slices.Clone(q.record) // the list will be written over
		m.finals = append(m.finals, p)
	}
}

// isOf makes sure that the totals of a zombie are not those of a later process
// with its pid.
func (q *macProcess) isOf(usage []byte) bool {
	start, _ := libproc.UStart.Uint(usage)
	return q.begin == 0 || q.begin == start
}
