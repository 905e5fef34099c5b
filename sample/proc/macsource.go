package proc

import (
	"strconv"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

// macProcesses is the source of everything that is known per process.
type macProcesses struct {
	m       *macTable
	parts   []part[macReading]
	wanted  []*part[macReading]
	groups  []*metric.Group
	column  map[string]int
	reading macReading
	// Frames of the current reading, by group.
	perProcess, perMachine, settings []*sample.Frame
}

func newMacProcesses(m *macTable) *macProcesses {
	s := &macProcesses{m: m, parts: m.parts(), column: make(map[string]int)}
	s.reading.m = m
	names := number(s.parts)
	for i, n := range names {
		s.column[n] = i
	}
	s.groups = []*metric.Group{
		catalog.Group(catalog.Darwin, "proc", names...),
		catalog.Group(catalog.Darwin, "procs", countNames()...),
		catalog.Group(catalog.Darwin, "proc.control", controlNames...),
	}
	return s
}

func (s *macProcesses) Name() string            { return "proc" }
func (s *macProcesses) Groups() []*metric.Group { return s.groups }

// Refresh asks again for what was refused: the recorder may have other rights.
func (s *macProcesses) Refresh() error {
	s.m.Lock()
	defer s.m.Unlock()
	for _, p := range s.m.table.byPID {
		p.platform.refusedAs = 0
	}
	return nil
}

// SetOptions changes what is kept of command lines, and whose threads are read.
func (s *macProcesses) SetOptions(opt Options) error { return s.m.setOptions(opt) }

func (s *macProcesses) Close() error {
	s.m.close()
	return nil
}

func (s *macProcesses) Read(c *sample.Context, frames []*sample.Frame) error {
	s.m.Lock()
	defer s.m.Unlock()
	s.sort(frames)
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	if len(s.perProcess)+len(s.perMachine) > 0 {
		times := s.parts[macTimesPart].wanted(s.perProcess)
		// The state of a process, and with it the counts, need task info.
		task := len(s.perMachine) > 0 || s.parts[macTaskPart].wanted(s.perProcess) || times || s.wants("proc.psinfo.sname")
		s.prepare()
		if err := s.m.sweep(c, at, task, times || s.parts[macUsagePart].wanted(s.perProcess), s.fill); err != nil {
			return err
		}
		if s.m.counts.unread == 0 {
			lookAt(&s.m.refused, s.m.table.alive, func(p *macProcess) bool { return p.refusedAs != 0 }, "CPU time, memory, I/O, energy and open files")
		}
	}
	for _, f := range s.settings {
		fillControl(f, &s.m.opt)
	}
	for _, f := range s.perMachine {
		s.m.counts.fill(f)
	}
	s.fillFinals()
	return nil
}

// Notice tells how many processes only their owner or root may read.
func (s *macProcesses) Notice() string {
	s.m.Lock()
	defer s.m.Unlock()
	return s.m.refused.notice
}

func (s *macProcesses) sort(frames []*sample.Frame) {
	s.perProcess, s.perMachine, s.settings = s.perProcess[:0], s.perMachine[:0], s.settings[:0]
	for _, f := range frames {
		switch f.Full() {
		case s.groups[0]:
			s.perProcess = append(s.perProcess, f)
		case s.groups[1]:
			s.perMachine = append(s.perMachine, f)
		case s.groups[2]:
			s.settings = append(s.settings, f)
		}
	}
}

// wants reports whether a column is wanted by any frame.
func (s *macProcesses) wants(names ...string) bool {
	for _, f := range s.perProcess {
		for _, n := range names {
			if f.Wants(s.column[n]) {
				return true
			}
		}
	}
	return false
}

// prepare finds out which calls are wanted.
func (s *macProcesses) prepare() {
	s.wanted = s.wanted[:0]
	for i := range s.parts {
		if s.parts[i].wanted(s.perProcess) {
			s.wanted = append(s.wanted, &s.parts[i])
		}
	}
	s.reading.countSockets = s.wants("proc.net.tcp_count", "proc.net.udp_count")
}

// fill puts what is wanted of a process into a row of its own.
func (s *macProcesses) fill(p *process[macProcess]) {
	s.reading.p = p
	for _, f := range s.perProcess {
		f.Row(&p.instance)
		q := &p.platform
		q.lastTold = q.lastTold || q.ended && f.Wants(s.column["proc.psinfo.utime"])
	}
	for _, part := range s.wanted {
		part.fill(&s.reading, s.perProcess)
	}
}

// fillFinals gives those who have ended their last row.
func (s *macProcesses) fillFinals() {
	told := false
	for _, f := range s.perProcess {
		if !f.Wants(s.column["proc.psinfo.utime"]) {
			continue
		}
		told = true
		for _, p := range s.m.finals {
			row := f.Row(&p.instance)
			s.reading.p = p
			s.parts[macListPart].fillLasting(&s.reading, f, row)
			s.m.eachTotal(p, func(name string, v uint64) { f.SetUint(row, s.column[name], v) })
			f.MissRow(row, metric.Vanished)
		}
	}
	if told {
		clear(s.m.finals)
		s.m.finals = s.m.finals[:0]
	}
}

// eachTotal calls each with the totals in the last usage of a dead process:
// everything in it that counts, and its peaks.
func (m *macTable) eachTotal(p *process[macProcess], each func(name string, v uint64)) {
	r := macReading{m: m, p: p}
	for _, cs := range [][]column[macReading]{macFinal, macUsageColumns} {
		for i := range cs {
			c := &cs[i]
			if c.name == "proc.memory.footprint" || c.name == "proc.memory.wired" || c.missing(&r) != metric.Present {
				continue // a zombie has no memory left
			}
			each(c.name, c.number(&r))
		}
	}
}

func (m *macTable) totals(p *process[macProcess]) []metric.Label {
	var ls []metric.Label
	m.eachTotal(p, func(name string, v uint64) {
		ls = append(ls, metric.Label{Name: name, Value: strconv.FormatUint(v, 10)})
	})
	return ls
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

// loadDescriptors counts what a process has open; sockets need a call each.
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
	if !r.countSockets {
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

// scratch is a buffer for one answer, until the next call.
func (m *macTable) scratch(n int) []byte {
	if len(m.buf) < n {
		m.buf = make([]byte, n)
	}
	return m.buf[:n]
}

// listOf reads a list that may grow while it is being read: a buffer that was
// filled to the end may have been too short.
func (m *macTable) listOf(pid, flavour int32) ([]byte, syscall.Errno) {
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
