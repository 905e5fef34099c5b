package proc

import (
	"encoding/binary"
	"slices"
	"syscall"
	"testing"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/libproc"
)

// fakeMac answers the calls of a macKernel from a list of processes, in the kernel's
// layouts.
type fakeMac struct {
	t         testing.TB
	processes []*macPerson
	found     int
	calls     map[string]int
	events    []macEvent
	followed  []int32
	closed    bool
	jobs      *owner.Jobs
	console   uint32
	flavour   int32 // newest flavour of rusage

	coalitions []*macCoalition
	unlistable syscall.Errno // why they cannot be listed
	usageSize  int           // of coalition_resource_usage
	scratch    [512]byte
}

// macPerson is a process of a fakeMac.
type macPerson struct {
	pid, ppid      int32
	unique, parent uint64
	micros         int64
	comm, path     string
	uid            uint32
	stat, exit     uint64
	user           uint64 // ticks
	running        uint64
	begin          uint64
	diskRead       uint64
	instructions   uint64
	foreign        bool
	// The start according to task info, if another process has the pid by then.
	taskMicros int64
	fds        []uint64 // kinds: 0 a file, 1 a TCP socket, 2 a UDP socket, 3 a socket that is gone
	unlisted   bool
	coalition  uint64
	// The process that macOS holds responsible; 0 is the process itself.
	responsible    int32
	identity, team string // of its signature
	signed         uint32
	given, job     string // the path given to exec, and XPC_SERVICE_NAME
	noTerminal     bool
	deleted        bool // the program's file
}

func putField(b []byte, f *decode.Field, v uint64) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	copy(b[f.Off:f.Off+f.Size], w[:])
}

// find begins at the last process found: a sweep goes through the list in order, and the
// benchmark must not measure the search.
func (m *fakeMac) find(pid int32) *macPerson {
	for i := range m.processes {
		at := (m.found + i) % len(m.processes)
		if m.processes[at].pid == pid {
			m.found = at
			return m.processes[at]
		}
	}
	return nil
}

func (m *fakeMac) Processes(buf []byte) (list, next []byte, errno syscall.Errno) {
	m.calls["list"]++
	need := len(m.processes) * libproc.KinfoSize
	if len(buf) < need {
		buf = make([]byte, 2*need)
	}
	clear(buf)
	n := 0
	for _, p := range m.processes {
		if p.unlisted {
			continue
		}
		b := buf[n : n+libproc.KinfoSize]
		putField(b, libproc.KPid, uint64(p.pid))
		putField(b, libproc.KParent, uint64(p.ppid))
		putField(b, libproc.KStartSec, uint64(p.micros/1e6))
		putField(b, libproc.KStartMicro, uint64(p.micros%1e6))
		putField(b, libproc.KUID, uint64(p.uid))
		putField(b, libproc.KRealUID, uint64(p.uid))
		putField(b, libproc.KStat, max(2, p.stat))
		putField(b, libproc.KExitStatus, p.exit)
		if p.noTerminal {
			putField(b, libproc.KTTY, 0xffffffff)
		}
		copy(b[libproc.KComm.Off:libproc.KComm.Off+16], p.comm)
		n += libproc.KinfoSize
	}
	return buf[:n], buf, 0
}

func (m *fakeMac) Info(pid, flavour int32, _ uint64, buf []byte) (int, syscall.Errno) {
	p := m.find(pid)
	if p == nil {
		return 0, syscall.ESRCH
	}
	switch flavour {
	case libproc.PIDUniqueID:
		m.calls["unique"]++
		clear(buf)
		putField(buf, libproc.Unique, p.unique)
		putField(buf, libproc.UniqueParent, p.parent)
		return libproc.UniqueSize, 0
	case libproc.PIDTaskAllInfo:
		m.calls["task"]++
		if p.foreign {
			return 0, syscall.EPERM
		}
		micros := p.micros
		if p.taskMicros != 0 {
			micros = p.taskMicros
		}
		clear(buf)
		putField(buf, libproc.TStartSec, uint64(micros/1e6))
		putField(buf, libproc.TStartMicro, uint64(micros%1e6))
		putField(buf, libproc.TUser, p.user)
		putField(buf, libproc.TRunning, p.running)
		putField(buf, libproc.TThreads, 1)
		return libproc.TaskAllSize, 0
	case libproc.PIDCoalition:
		m.calls["coalition"]++
		clear(buf)
		binary.LittleEndian.PutUint64(buf, p.coalition)
		return libproc.CoalitionSize, 0
	}
	return 0, syscall.ENOTSUP
}

func (m *fakeMac) List(pid, flavour int32, buf []byte) (int, syscall.Errno) {
	p := m.find(pid)
	if p == nil || flavour != libproc.PIDListFDs {
		return 0, syscall.ESRCH
	}
	if p.foreign {
		return 0, syscall.EPERM
	}
	n := 0
	for fd, kind := range p.fds {
		if n+8 > len(buf) {
			break
		}
		binary.LittleEndian.PutUint32(buf[n:], uint32(fd))
		binary.LittleEndian.PutUint32(buf[n+4:], uint32(1+min(kind, 1)))
		n += 8
	}
	return n, 0
}

func (m *fakeMac) Socket(pid, fd int32, buf []byte) (int, syscall.Errno) {
	clear(buf)
	set := func(off int, v uint32) { binary.LittleEndian.PutUint32(buf[off:], v) }
	set(184, 2) // soi_family
	switch m.find(pid).fds[fd] {
	case 1:
		set(256, 2) // soi_kind
	case 2:
		set(256, 1)
		set(180, 17) // soi_protocol
	case 3:
		return 0, syscall.EBADF
	}
	return libproc.SocketSize, 0
}

func (m *fakeMac) Usage(pid, flavour int32, buf []byte) syscall.Errno {
	m.calls["usage"]++
	if flavour > m.flavour {
		return syscall.EINVAL
	}
	p := m.find(pid)
	switch {
	case p == nil:
		return syscall.ESRCH
	case p.foreign:
		return syscall.EPERM
	}
	m.usage(p, buf)
	return 0
}

var (
	usageDiskRead     = decode.Find("rusage_info_v6", "ri_diskio_bytesread", "amd64")
	usageInstructions = decode.Find("rusage_info_v6", "ri_instructions", "amd64")
)

func (m *fakeMac) usage(p *macPerson, buf []byte) {
	clear(buf)
	putField(buf, libproc.UStart, p.begin)
	putField(buf, libproc.UUser, p.user)
	putField(buf, usageDiskRead, p.diskRead)
	if len(buf) > usageInstructions.Off {
		putField(buf, usageInstructions, p.instructions)
	}
}

func (m *fakeMac) Path(pid int32, buf []byte) (int, syscall.Errno) {
	m.calls["path"]++
	if len(buf) > libproc.PathSize {
		return 0, syscall.EOVERFLOW
	}
	p := m.find(pid)
	switch {
	case p == nil:
		return 0, syscall.ESRCH
	case p.deleted:
		return 0, syscall.ENOENT
	}
	return copy(buf, p.path), 0
}

func (m *fakeMac) Responsible(pid int32) (int32, syscall.Errno) {
	m.calls["responsible"]++
	p := m.find(pid)
	switch {
	case p == nil || p.responsible < 0:
		return 0, syscall.ESRCH
	case p.responsible == 0:
		return pid, 0
	}
	return p.responsible, 0
}

func (m *fakeMac) Signing(pid int32, op uint32, buf []byte) syscall.Errno {
	m.calls["signing"]++
	p := m.find(pid)
	if p == nil {
		return syscall.ESRCH
	}
	clear(buf)
	text := p.identity
	switch op {
	case libproc.SigningStatus:
		binary.LittleEndian.PutUint32(buf, p.signed)
		return 0
	case libproc.SigningTeam:
		text = p.team
	}
	if text == "" {
		return syscall.ENOENT
	}
	binary.BigEndian.PutUint32(buf[4:], uint32(8+len(text)+1))
	if 8+len(text)+1 > len(buf) {
		return syscall.ERANGE
	}
	copy(buf[8:], text)
	return 0
}

func (m *fakeMac) Jobs(metric.Stamp) *owner.Jobs {
	if m.jobs == nil {
		m.jobs = new(owner.Jobs)
	}
	return m.jobs
}

func (m *fakeMac) Console() (uint32, bool) { return m.console, m.console != 0 }

// Arguments are those of a program without arguments, whose environment can be seen if it has a job.
func (m *fakeMac) Arguments(pid int32, buf []byte) (int, syscall.Errno) {
	p := m.find(pid)
	if p == nil || p.job == "" {
		return 0, syscall.EINVAL
	}
	text := p.given + "\x00\x00" + p.comm + "\x00HOME=/\x00XPC_SERVICE_NAME=" + p.job + "\x00"
	return copy(buf, append(binary.LittleEndian.AppendUint32(nil, 1), text...)), 0
}

func (m *fakeMac) Boot() (int64, bool)        { return 1_000_000_000_000_000, true }
func (m *fakeMac) UserName(uint32) string     { return "somebody" }
func (m *fakeMac) GroupName(uint32) string    { return "somegroup" }
func (m *fakeMac) TerminalName(uint32) string { return "ttys000" }

func (m *fakeMac) Add(pids []int32) { m.followed = append(m.followed, pids...) }
func (m *fakeMac) Close()           { m.closed = true }
func (m *fakeMac) Take(each func(*macEvent)) {
	for i := range m.events {
		each(&m.events[i])
	}
	m.events = nil
}

// newFakeMac opens the sources on a fakeMac.
func newFakeMac(t testing.TB, people ...*macPerson) (*fakeMac, *fakeReader) {
	m := &fakeMac{t: t, processes: people, calls: make(map[string]int), flavour: libproc.NewestRusage, usageSize: libproc.UsageSize}
	r := &fakeReader{t: t, now: metric.Stamp{Wall: 1_000_000_100e9, Awake: 90e9, Cont: 100e9}}
	r.source, _ = macSources(newMacKernel(Options{}, m, m, libproc.Ticks{Numer: 125, Denom: 3}))
	for _, g := range r.source.Groups() {
		r.frames = append(r.frames, sample.NewFrame(g, func(*metric.Desc) bool { return true }))
	}
	return m, r
}

type fakeReader struct {
	t      testing.TB
	source *processes[macProcess, macReading]
	frames []*sample.Frame
	now    metric.Stamp
	events []metric.Event
}

func (r *fakeReader) read() []metric.Event {
	r.t.Helper()
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, r.now.Awake+5e9, r.now.Cont+5e9
	r.events = nil
	c := &sample.Context{Now: func() metric.Stamp { return r.now }, Emit: func(e metric.Event) { r.events = append(r.events, e) }}
	if err := r.source.Read(c, r.frames); err != nil {
		r.t.Fatal(err)
	}
	return r.events
}

// cell is the value of a metric of an instance, or of a group without instances. "!reason"
// is an absent value, and "" is no row.
func (r *fakeReader) cell(key, name string) string {
	for _, f := range r.frames {
		b := f.Block()
		for row, in := range b.Rows {
			if in == nil && key != "" || in != nil && in.Key != key {
				continue
			}
			for col, d := range b.Group.Metrics {
				if d.Name != name {
					continue
				}
				if v := b.Cols[col].At(d.Type, row); v.Miss != metric.Present {
					return "!" + v.Miss.String()
				} else {
					return v.String()
				}
			}
		}
	}
	return ""
}

func (r *fakeReader) expect(key string, want map[string]string) {
	r.t.Helper()
	for name, w := range want {
		if got := r.cell(key, name); got != w {
			r.t.Errorf("%s of %q is %q, want %q", name, key, got, w)
		}
	}
}

func (r *fakeReader) keys() []string {
	var keys []string
	for _, in := range r.frames[0].Block().Rows {
		keys = append(keys, in.Key)
	}
	slices.Sort(keys)
	return keys
}

func findEvent(events []metric.Event, kind metric.EventKind, key string) *metric.Event {
	for i := range events {
		if events[i].Kind == kind && events[i].Key == key {
			return &events[i]
		}
	}
	return nil
}
