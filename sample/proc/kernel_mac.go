package proc

import (
	"slices"
	"strconv"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/libproc"
)

// macCalls are the calls to Darwin's kernel that the process table needs. The code that
// processes the answers is the same, and tested, on every platform.
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
	// Responsible is the process that macOS holds responsible for what pid does.
	Responsible(pid int32) (int32, syscall.Errno)
	// Signing is csops.
	Signing(pid int32, op uint32, buf []byte) syscall.Errno
	Arguments(pid int32, buf []byte) (n int, errno syscall.Errno)
	// Jobs are the jobs of launchd, as far as they have been read.
	Jobs(now metric.Stamp) *owner.Jobs
	// Console is the user at the screen.
	Console() (uid uint32, ok bool)
	// Boot is when the machine booted, in microseconds since 1970.
	Boot() (micros int64, ok bool)
	// Coalitions lists the resource coalitions: proc_listcoalitions.
	Coalitions(buf []byte) (n int, errno syscall.Errno)
	// CoalitionUsage is coalition_info_resource_usage.
	CoalitionUsage(id uint64, buf []byte) syscall.Errno
	UserName(uid uint32) string
	GroupName(gid uint32) string
	TerminalName(dev uint32) string
}

// macWatch reports exits and execs of the processes that were added to it.
type macWatch interface {
	Add(pids []int32)
	// Take passes all events up to now to each.
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
	// cause is why the kernel ended the process, if it did; idle, that it was just idle.
	cause string
	idle  bool
	usage []byte // the zombie's; nil if it could not be had
}

// macProcess holds the last readings of a process on macOS.
type macProcess struct {
	micros    int64 // wall clock at the start: with the pid, it identifies the process
	parent    uint64
	coalition uint64 // the resource coalition, which it never leaves; 0 is unknown
	group     *macGroup
	app       *macApp // that it works for; nil is none
	service   string  // the job of launchd that it belongs to
	signed    *macSignature
	// How the app and the service were found.
	appBy, serviceBy string
	alone            bool            // no other process is responsible for it
	job              string          // XPC_SERVICE_NAME of its environment
	given            string          // the path that was given to exec, where exe is not known
	record           libproc.Process // of the last sweep that met it
	zombie           bool
	task             []byte
	taskWhy          metric.Reason
	usage            []byte
	usageWhy         metric.Reason
	started          uint64 // nanoseconds since boot
	exe              string
	exeWhy           metric.Reason
	args             string
	argsWhy          metric.Reason
	cwd              string
	tty              string
	ttyDev           uint32
	end              *macEvent
	refusedAs        uint64 // 1 + effective uid at which task info was refused
}

// macKernel builds the process table from the answers of Darwin's kernel.
type macKernel struct {
	*census[macProcess]
	columns []supply[macReading]
	now     macReading
	calls   macCalls
	watch   macWatch // nil where there is none
	ticks   libproc.Ticks
	flavour int32 // of rusage
	// The records of this sweep and of the previous one, which still has those of the gone
	// processes.
	records, spare      []byte
	buf                 []byte
	lists               []byte
	sockets             []int32
	fresh               []int32
	born                []*process[macProcess] // scratch of introduceAll
	wantTask, wantUsage bool
	wantSockets         bool
	// highest is the largest unique number seen: the kernel gives each new process the next
	// higher number.
	highest, base, debt uint64
	// What the hardware counts, by members of rusage. A member that is ever other than zero is
	// counted.
	counted  map[string]*hardware
	counters []*hardware // each once
	belong   macBelongings
	used     uint64 // ticks of CPU time since the list was read, of processes that had been read before
	usage    *answered
	// coalitions are read after each sweep.
	coalitions *coalitions
}

func newMacKernel(opt Options, calls macCalls, watch macWatch, ticks libproc.Ticks) *macKernel {
	m := &macKernel{
		census: newCensus[macProcess](opt, "CPU time, memory, I/O, energy and open files"),
		calls:  calls, watch: watch, ticks: ticks, flavour: libproc.NewestRusage,
		belong: newMacBelongings(),
	}
	counters, energy, clusters := new(hardware), new(hardware), &hardware{rests: true}
	m.counters = []*hardware{counters, energy, clusters}
	m.counted = map[string]*hardware{
		"ri_instructions": counters, "ri_cycles": counters, "ri_energy_nj": energy, "ri_penergy_nj": energy,
		"ri_user_ptime": clusters, "ri_system_ptime": clusters, "ri_pinstructions": clusters, "ri_pcycles": clusters,
	}
	m.columns, m.now.m = m.macParts(), m
	m.coalitions = newCoalitions(m)
	m.counts.unseenMaxWhy = metric.Unsupported
	return m
}

func macSources(m *macKernel) (*processes[macProcess, macReading], *threads[macProcess, macReading, macThreadInfo]) {
	s := newProcesses(catalog.Darwin, m, m.census)
	s.follow(m.coalitions)
	return s, newThreads(catalog.Darwin, s, m, m.threadColumns())
}

func (m *macKernel) parts() []supply[macReading] { return m.columns }

func (m *macKernel) reading(p *process[macProcess]) *macReading {
	m.now.p = p
	return &m.now
}

// refresh has the next sweep ask again for what was refused.
func (m *macKernel) refresh() {
	for _, p := range m.table.byPID {
		p.platform.refusedAs = 0
	}
	m.coalitions.refresh()
}

func (m *macKernel) close() error {
	if m.watch != nil {
		m.watch.Close()
	}
	return nil
}

func (m *macKernel) prepare(f purpose) {
	times := m.columns[macTimesPart].wanted
	m.wantTask = f.states || times || m.columns[macTaskPart].wanted
	m.wantUsage = times || m.columns[macUsagePart].wanted
	m.wantSockets = f.sockets
}

// list reads a record of every process, and which processes they are. What takes a call for
// each process is left to the walk.
func (m *macKernel) list(c *sample.Context, now metric.Stamp) error {
	records, next, errno := m.calls.Processes(m.spare)
	m.spare = next
	if errno != 0 {
		return &callError{"sysctl kern.proc.all", errno}
	}
	m.records, m.spare = m.spare, m.records
	for _, h := range m.counters {
		h.sweep(m.ticks.Nanoseconds(m.used))
	}
	m.used = 0
	t := m.table
	t.begin()
	m.fresh, m.listing = m.fresh[:0], m.listing[:0]
	newborn := m.countUnseen(func() { libproc.Processes(records, m.visit) })
	slices.Sort(m.listing)
	m.listing = slices.Compact(m.listing)
	t.end()
	if m.watch != nil {
		m.watch.Add(m.fresh)
		m.watch.Take(m.hear)
	}
	if newborn {
		m.introduceAll(c, now)
	}
	for _, p := range t.alive {
		m.followExec(p)
		if t.first() {
			m.loadUsage(p) // another process may show that a counter at zero is counted
		}
	}
	m.lookForJobs(now)
	m.forgetCoalitions()
	m.counts.started = m.highest - m.base
	return nil
}

func (m *macKernel) meet(_ *sample.Context, pid int32, _ metric.Stamp) *process[macProcess] {
	p := m.table.lookup(pid)
	m.load(p)
	return p
}

func (m *macKernel) walked(*sample.Context, int, metric.Stamp) {}

// letGo implements kernel: the kernel names the process in each list.
func (m *macKernel) letGo(*sample.Context, metric.Stamp)       {}
func (m *macKernel) findHolders(*sample.Context, metric.Stamp) { m.findNamed() }

func (m *macKernel) count(p *process[macProcess]) { m.counts.add(m.state(p)) }

// unchanged implements kernel: nothing shows that a process has done nothing.
func (m *macKernel) unchanged(*process[macProcess], uint64) bool { return false }
func (m *macKernel) zombie(p *process[macProcess]) bool          { return p.platform.zombie }
func (m *macKernel) refuses(p *process[macProcess]) bool {
	return p.platform.refusedAs != 0
}

// release copies the record of p, which the next list would overwrite.
func (m *macKernel) release(p *process[macProcess]) {
	p.platform.record = slices.Clone(p.platform.record)
}

// visit takes in one record of the list.
func (m *macKernel) visit(r libproc.Process) {
	pid, start := r.Pid(), r.StartMicros()
	p := m.table.lookup(pid)
	if p == nil || p.platform.micros != start {
		unique, parent, ok := m.unique(pid)
		if !ok {
			return // it ended before its unique number could be read
		}
		p = m.table.add(pid, unique, libproc.Key(unique))
		p.platform.micros, p.platform.parent, p.platform.coalition = start, parent, m.coalition(pid)
		p.platform.taskWhy, p.platform.usageWhy = metric.NotRead, metric.NotRead
		p.name = string(r.Comm())
		m.fresh = append(m.fresh, pid)
	}
	m.table.meet(p)
	m.listing = append(m.listing, pid)
	p.platform.record, p.platform.zombie = r, r.Zombie()
}

// unique asks for the number that no other process of this boot ever has. That needs no
// privilege; an argument other than 0 makes zombies answer too.
func (m *macKernel) unique(pid int32) (unique, parent uint64, ok bool) {
	b := m.scratch(libproc.UniqueSize)
	if n, errno := m.calls.Info(pid, libproc.PIDUniqueID, 1, b); errno != 0 || n < libproc.UniqueSize {
		return 0, 0, false
	}
	unique, _ = libproc.Unique.Uint(b)
	parent, _ = libproc.UniqueParent.Uint(b)
	return unique, parent, true
}

// coalition asks for the resource coalition of a process, which takes no privilege; 0 is
// unknown.
func (m *macKernel) coalition(pid int32) uint64 {
	b := m.scratch(libproc.CoalitionSize)
	n, errno := m.calls.Info(pid, libproc.PIDCoalition, 0, b)
	if errno != 0 {
		return 0
	}
	id, _ := libproc.Coalition(b[:n])
	return id
}

// countUnseen runs the listing and counts the gaps in the unique numbers: those numbers were
// given to processes that no listing has shown.
func (m *macKernel) countUnseen(list func()) (newborn bool) {
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
			// Born before the newest process of the last sweep, but listed later: it was
			// counted as one that lived unseen.
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

// introduceAll finds out what never changes about the new processes.
func (m *macKernel) introduceAll(c *sample.Context, now metric.Stamp) {
	boot, ok := m.calls.Boot()
	m.born = m.born[:0]
	for _, p := range m.table.alive {
		if p.born != m.table.sweeps {
			continue
		}
		if ok {
			p.platform.started = uint64(max(0, p.platform.micros-boot)) * 1000
		}
		m.readExe(p)
		m.readArgs(p)
		m.born = append(m.born, p)
	}
	m.findOwners(m.born)
	clear(m.born)
	for _, p := range m.table.alive {
		if p.born != m.table.sweeps {
			continue
		}
		q := &p.platform
		parent := ""
		if q.parent != 0 {
			parent = libproc.Key(q.parent)
		}
		uid, _ := libproc.KRealUID.Uint(q.record)
		p.rename(m.fullName(p))
		p.describe(facts{start: q.micros * 1000, parent: parent, uid: strconv.FormatUint(uid, 10), exe: q.exe})
		if !m.table.first() {
			emit(c, startEvent(p.instance, p.name, wallInstant(q.micros*1000, now)))
		}
	}
}

// wallInstant turns a wall clock reading into a stamp, given a stamp taken shortly after it. If
// the clock has been set in between, it returns now.
func wallInstant(wall int64, now metric.Stamp) metric.Stamp {
	ago := now.Wall - wall
	if ago < 0 || ago > now.Cont {
		return now
	}
	return metric.Stamp{Wall: wall, Awake: max(0, now.Awake-ago), Cont: now.Cont - ago}
}

// fullName is the full name of the program; the kernel's own name may be cut short.
func (m *macKernel) fullName(p *process[macProcess]) string {
	return libproc.FullName(p.platform.record.Comm(), p.platform.exe)
}

// sameComm reports whether the kernel's short name still matches name.
func sameComm(name string, comm []byte) bool {
	return len(name) >= len(comm) && name[:len(comm)] == string(comm) && (len(name) == len(comm) || len(comm) == 16)
}

// followExec follows a process that has called exec or changed its name.
func (m *macKernel) followExec(p *process[macProcess]) {
	q := &p.platform
	executed := p.execAt != (metric.Stamp{})
	if !executed && sameComm(p.name, q.record.Comm()) || q.zombie {
		return
	}
	was, exe := p.name, q.exe
	m.readExe(p)
	m.readArgs(p)
	if name := m.fullName(p); name != p.name {
		p.rename(name)
	}
	if q.exe != exe {
		p.relabel("exe", q.exe)
	}
	q.refusedAs = 0
	m.findOwner(p)
	if executed || q.exe != exe {
		p.executed, p.was = true, was
	}
}

// callError is a call that failed for all processes.
type callError struct {
	call  string
	errno syscall.Errno
}

func (e *callError) Error() string { return e.call + ": " + e.errno.Error() }
func (e *callError) Unwrap() error { return e.errno }
