package proc

import (
	"strconv"
	"sync"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

// macCalls are the calls to Darwin's kernel that the process table needs. What
// it makes of the answers is the same, and tested, on every platform.
type macCalls interface {
	// Processes is sysctl kern.proc.all; next is the buffer for the next time.
	Processes(buf []byte) (list, next []byte, errno syscall.Errno)
	// Info is proc_pidinfo for the flavours that fill a struct.
	Info(pid, flavour int32, arg uint64, buf []byte) (n int, errno syscall.Errno)
	// List is proc_pidinfo for the flavours that fill a list.
	List(pid, flavour int32, buf []byte) (n int, errno syscall.Errno)
	// Socket is proc_pidfdinfo(PROC_PIDFDSOCKETINFO).
	Socket(pid, fd int32, buf []byte) (n int, errno syscall.Errno)
	Usage(pid, flavour int32, buf []byte) syscall.Errno
	Path(pid int32, buf []byte) (n int, errno syscall.Errno)
	Arguments(pid int32, buf []byte) (n int, errno syscall.Errno)
	// Boot is when the machine booted, in microseconds since 1970.
	Boot() (micros int64, ok bool)
	UserName(uid uint32) string
	GroupName(gid uint32) string
	TerminalName(dev uint32) string
}

// macWatch hears of exits and execs of processes that it was told about.
type macWatch interface {
	Add(pids []int32)
	// Take hands over what has happened, everything up to now included.
	Take(each func(e *macEvent))
	Close()
}

// macEvent is the end of a process, or an exec.
type macEvent struct {
	pid    int32
	exec   bool
	status int
	// known is false where the kernel keeps the status from us.
	known bool
	at    metric.Stamp
	// cause is why the kernel ended the process, if it did.
	cause string
	usage []byte // the zombie's; nil if it could not be had
}

// macProcess is what is kept of a process on macOS.
type macProcess struct {
	micros    int64 // wall clock at the start: with the pid, it tells processes apart
	parent    uint64
	record    libproc.Process // of the last sweep that met it
	zombie    bool
	task      []byte
	taskWhy   metric.Reason
	usage     []byte
	usageWhy  metric.Reason
	begin     uint64 // start in the kernel's ticks, 0 until usage has told it
	started   uint64 // nanoseconds since boot
	exe       string
	exeWhy    metric.Reason
	args      string
	argsWhy   metric.Reason
	cwd       string
	tty       string
	ttyDev    uint32
	execAt    metric.Stamp
	end       *macEvent
	told      bool // of its end
	ended     bool // usage holds the last totals
	lastTold  bool // a row of its zombie holds the last totals
	busy      uint64
	refusedAs uint64 // 1 + effective uid at which task info was refused
}

// macTable is the process table of this Mac, and how it is read. The process
// and the thread source share it.
type macTable struct {
	sync.Mutex
	opt     Options
	calls   macCalls
	watch   macWatch // nil where there is none
	table   *table[macProcess]
	counts  counts
	refused refusals
	ticks   libproc.Ticks
	flavour int32 // of rusage
	// The list of this sweep, and the one before, in which those who are gone
	// still stand.
	list, spare []byte
	buf         []byte
	lists       []byte
	sockets     []int32
	fresh       []int32
	last        metric.Stamp
	// highest is the largest unique number seen: the kernel gives the next
	// higher to each process that is born.
	highest, base, debt uint64
	finals              []*process[macProcess]
	next                [metric.NumClasses]int // where the walk of each class goes on
	// What the hardware counts; found out by looking for anything but zero.
	counters, energy, clusters bool
}

func newMacTable(opt Options, calls macCalls, watch macWatch, ticks libproc.Ticks) *macTable {
	m := &macTable{
		opt: opt, calls: calls, watch: watch, ticks: ticks, table: newTable[macProcess](),
		flavour: libproc.NewestRusage,
	}
	m.counts.unseenMaxWhy = metric.Unsupported
	return m
}

// setOptions changes what is read from the next reading on.
func (m *macTable) setOptions(opt Options) error {
	if err := opt.Check(); err != nil {
		return err
	}
	m.Lock()
	defer m.Unlock()
	args := opt.Args != m.opt.Args
	m.opt = opt
	if args {
		for _, p := range m.table.byPID {
			m.readArgs(p)
		}
	}
	return nil
}

func (m *macTable) close() {
	m.Lock()
	defer m.Unlock()
	if m.watch != nil {
		m.watch.Close()
	}
}

// sweep brings the table up to date and tells of births and deaths. It loads
// what is wanted of each process and hands it to each, if that is not nil, as
// long as there is time.
func (m *macTable) sweep(c *sample.Context, now metric.Stamp, wantTask, wantUsage bool, each func(*process[macProcess])) error {
	t := m.table
	list, next, errno := m.calls.Processes(m.spare)
	m.spare = next
	if errno != 0 {
		return &callError{"sysctl kern.proc.all", errno}
	}
	m.list, m.spare = m.spare, m.list
	t.begin()
	m.fresh = m.fresh[:0]
	m.counts.restart()
	newborn := m.countUnseen(func() { libproc.Processes(list, m.visit) })
	t.end()
	if m.watch != nil {
		m.watch.Add(m.fresh)
		m.watch.Take(func(e *macEvent) { m.hear(e) })
	}
	if newborn {
		m.introduceAll(c, now)
	}
	for _, p := range t.alive {
		m.tellExec(c, p, now)
		if p.platform.zombie {
			m.farewell(c, p, now)
		}
	}
	m.walk(c, wantTask, wantUsage, each)
	for _, p := range t.alive {
		m.counts.add(m.state(p))
	}
	for _, p := range t.gone {
		m.farewell(c, p, now)
		m.keepFinal(p)
	}
	m.counts.exited = t.exits
	m.counts.started = m.highest - m.base
	m.last = now
	return nil
}

// walkTogether is how many processes are read between two looks at the clock.
const walkTogether = 32

// walk reads the listed processes, from where the walk before it had to stop,
// and goes on until it has read them all or shall stop itself. They are handed
// on when all are read: what the first ones show at zero may be counted after
// all, as later ones tell.
func (m *macTable) walk(c *sample.Context, wantTask, wantUsage bool, each func(*process[macProcess])) {
	alive := m.table.alive
	from, n := m.next[c.Class], len(alive)
	m.next[c.Class] = 0
	for i := range alive {
		at := (from + i) % len(alive)
		if i > 0 && i%walkTogether == 0 && c.Late() {
			m.next[c.Class] = at
			c.Partly(i, len(alive))
			m.counts.unread = uint64(len(alive) - i)
			n = i
			break
		}
		m.load(alive[at], wantTask, wantUsage)
	}
	for i := range n {
		if each != nil {
			each(alive[(from+i)%len(alive)])
		}
	}
}

// visit takes in one record of the list.
func (m *macTable) visit(r libproc.Process) {
	pid, start := r.Pid(), r.StartMicros()
	p := m.table.lookup(pid)
	if p == nil || p.platform.micros != start {
		unique, parent, ok := m.unique(pid)
		if !ok {
			return // it went before it could be told from others
		}
		p = m.table.add(pid, unique, strconv.FormatUint(unique, 10))
		p.platform.micros, p.platform.parent = start, parent
		p.platform.taskWhy, p.platform.usageWhy = metric.NotRead, metric.NotRead
		p.name = string(r.Comm())
		m.fresh = append(m.fresh, pid)
	}
	m.table.meet(p)
	p.platform.record, p.platform.zombie = r, r.Zombie()
}

// unique asks for the number that no other process of this boot ever has. It
// needs no privilege; an argument other than 0 lets zombies answer.
func (m *macTable) unique(pid int32) (unique, parent uint64, ok bool) {
	b := m.scratch(libproc.UniqueSize)
	if n, errno := m.calls.Info(pid, libproc.PIDUniqueID, 1, b); errno != 0 || n < libproc.UniqueSize {
		return 0, 0, false
	}
	unique, _ = libproc.Unique.Uint(b)
	parent, _ = libproc.UniqueParent.Uint(b)
	return unique, parent, true
}

// countUnseen runs the listing and finds the gaps in the unique numbers: they
// were given to processes that no listing has shown.
func (m *macTable) countUnseen(list func()) (newborn bool) {
	t := m.table
	before, known := t.births, m.highest
	list()
	if t.births == before {
		return false
	}
	met := uint64(0)
	for _, p := range t.alive {
		if p.born != t.sweeps {
			continue
		}
		m.highest = max(m.highest, p.start)
		if p.start > known {
			met++
		} else if !t.first() {
			// Born before the newest of the last sweep, but listed later: it
			// has been taken for one that lived unseen.
			m.debt++
		}
	}
	if t.first() {
		m.base = m.highest
		return true
	}
	gap := m.highest - known - met
	paid := min(gap, m.debt)
	m.debt -= paid
	m.counts.unseen += gap - paid
	m.counts.unrecorded = m.counts.unseen
	return true
}

// introduceAll finds out what stands still about the new processes.
func (m *macTable) introduceAll(c *sample.Context, now metric.Stamp) {
	boot, ok := m.calls.Boot()
	for _, p := range m.table.alive {
		if p.born != m.table.sweeps {
			continue
		}
		q := &p.platform
		if ok {
			q.started = uint64(max(0, q.micros-boot)) * 1000
		}
		m.readExe(p)
		m.readArgs(p)
		parent := ""
		if q.parent != 0 {
			parent = strconv.FormatUint(q.parent, 10)
		}
		uid, _ := libproc.KRealUID.Uint(q.record)
		p.rename(m.fullName(p))
		p.describe(facts{start: q.micros * 1000, parent: parent, uid: strconv.FormatUint(uid, 10), exe: q.exe})
		if !m.table.first() {
			emit(c, startEvent(&p.instance, p.name, wallInstant(q.micros*1000, now)))
		}
	}
}

// wallInstant turns a wall clock reading into a stamp, given a stamp taken
// shortly after it. If the clock has been set in between, it says now.
func wallInstant(wall int64, now metric.Stamp) metric.Stamp {
	ago := now.Wall - wall
	if ago < 0 || ago > now.Cont {
		return now
	}
	return metric.Stamp{Wall: wall, Awake: max(0, now.Awake-ago), Cont: now.Cont - ago}
}

// fullName is the short name, or the name of the program's file where the
// kernel has cut that to make the short one.
func (m *macTable) fullName(p *process[macProcess]) string {
	const cut = 16
	comm := p.platform.record.Comm()
	if len(comm) < cut {
		return string(comm)
	}
	base := p.platform.exe
	for i := len(base) - 1; i >= 0; i-- {
		if base[i] == '/' {
			base = base[i+1:]
			break
		}
	}
	if len(base) > len(comm) && base[:len(comm)] == string(comm) {
		return base
	}
	return string(comm)
}

// sameComm reports whether the kernel's short name still is that of name.
func sameComm(name string, comm []byte) bool {
	return len(name) >= len(comm) && name[:len(comm)] == string(comm) && (len(name) == len(comm) || len(comm) == 16)
}

// tellExec follows processes that have called exec or changed their name.
func (m *macTable) tellExec(c *sample.Context, p *process[macProcess], now metric.Stamp) {
	q := &p.platform
	executed := q.execAt != (metric.Stamp{})
	if !executed && sameComm(p.name, q.record.Comm()) || q.zombie {
		return
	}
	at, was, exe := q.execAt, p.name, q.exe
	q.execAt = metric.Stamp{}
	if !executed {
		at = now
	}
	m.readExe(p)
	m.readArgs(p)
	if name := m.fullName(p); name != p.name {
		p.rename(name)
	}
	if q.exe != exe {
		p.relabel("exe", q.exe)
	}
	q.refusedAs = 0
	if executed || q.exe != exe {
		emit(c, execEvent(&p.instance, was, p.name, q.exe, at))
	}
}

// callError is a call that failed for all processes.
type callError struct {
	call  string
	errno syscall.Errno
}

func (e *callError) Error() string { return e.call + ": " + e.errno.Error() }
func (e *callError) Unwrap() error { return e.errno }
