package proc

import (
	"os"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// Sources opens the sources of this package: "proc" and "threads".
func Sources(opt Options) ([]sample.Source, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	k, err := openKernel(opt)
	if err != nil {
		return nil, err
	}
	k.refused.privileged = os.Geteuid() == 0
	return []sample.Source{newProcesses(k), newThreads(k)}, nil
}

// processes is the source of everything that is known per process.
type processes struct {
	k       *kernel
	parts   []part[reading]
	wanted  []*part[reading]
	groups  []*metric.Group
	column  map[string]int
	reading reading
	utime   int
	// Frames of the current reading, by group.
	perProcess, perMachine, settings []*sample.Frame
}

func newProcesses(k *kernel) *processes {
	s := &processes{k: k, parts: k.parts(), column: make(map[string]int)}
	s.reading.k = k
	names := number(s.parts)
	for i, n := range names {
		s.column[n] = i
	}
	s.utime = s.column["proc.psinfo.utime"]
	s.groups = []*metric.Group{
		catalog.Group(catalog.Linux, "proc", names...),
		catalog.Group(catalog.Linux, "procs", countNames()...),
		catalog.Group(catalog.Linux, "proc.control", controlNames...),
	}
	return s
}

func (s *processes) Name() string            { return "proc" }
func (s *processes) Groups() []*metric.Group { return s.groups }

func (s *processes) Refresh() error {
	s.k.Lock()
	defer s.k.Unlock()
	s.k.users.refresh()
	s.k.groups.refresh()
	s.k.forgetLoss()
	return nil
}

// SetOptions changes what is kept of command lines, and whose threads are read.
func (s *processes) SetOptions(opt Options) error { return s.k.setOptions(opt) }

func (s *processes) Close() error { return s.k.close() }

func (s *processes) Read(c *sample.Context, frames []*sample.Frame) error {
	s.k.Lock()
	defer s.k.Unlock()
	s.sort(frames)
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	if len(s.perProcess)+len(s.perMachine) > 0 {
		s.prepare()
		if err := s.k.sweep(c, at, s.fill); err != nil {
			return err
		}
		if s.k.counts.unread == 0 {
			lookAt(&s.k.refused, s.k.table.alive, func(p *linuxProcess) bool { return p.files[ioFile] == refused }, "I/O, proportional memory and open files")
		}
	}
	for _, f := range s.settings {
		fillControl(f, &s.k.opt)
	}
	for _, f := range s.perMachine {
		s.k.counts.fill(f)
	}
	s.fillFinals()
	return nil
}

// Notice tells how many processes only their owner or root may read.
func (s *processes) Notice() string {
	s.k.Lock()
	defer s.k.Unlock()
	return s.k.refused.notice
}

func (s *processes) sort(frames []*sample.Frame) {
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

// prepare finds out which files are wanted.
func (s *processes) prepare() {
	k := s.k
	clear(k.networks)
	k.wantSockets = false
	for _, f := range s.perProcess {
		k.wantSockets = k.wantSockets || f.Wants(s.column["proc.net.tcp_count"], s.column["proc.net.udp_count"])
	}
	s.wanted = s.wanted[:0]
	for i := range s.parts {
		if s.parts[i].wanted(s.perProcess) {
			s.wanted = append(s.wanted, &s.parts[i])
		}
	}
}

// fill reads what is wanted of a process into a row of its own.
func (s *processes) fill(p *process[linuxProcess]) {
	s.reading.p, s.reading.schedRead = p, false
	for _, f := range s.perProcess {
		p.platform.row = f.Row(&p.instance)
	}
	for _, part := range s.wanted {
		part.fill(&s.reading, s.perProcess)
	}
}

// fillFinals puts the last totals of those who have ended into the row of their
// zombie, or into a last row of their own.
func (s *processes) fillFinals() {
	told := false
	for _, f := range s.perProcess {
		if !f.Wants(s.utime) {
			continue
		}
		told = true
		for _, p := range s.k.table.alive {
			if p.platform.last != nil && p.platform.stat.State == 'Z' {
				s.fillTotals(f, p.platform.row, p)
				p.platform.lastTold = true
			}
		}
		for _, p := range s.k.finals {
			row := f.Row(&p.instance)
			s.reading.p = p
			if p.platform.ghost {
				s.fillGhost(f, row, p)
			} else {
				s.parts[statPart].fillLasting(&s.reading, f, row)
				if p.platform.status.Tgid != 0 { // it has been read
					s.parts[statusPart].fillLasting(&s.reading, f, row)
				}
			}
			s.fillTotals(f, row, p)
			f.MissRow(row, metric.Vanished)
		}
	}
	if told {
		clear(s.k.finals)
		s.k.finals = s.k.finals[:0]
	}
}

func (s *processes) fillTotals(f *sample.Frame, row int, p *process[linuxProcess]) {
	q := &p.platform
	q.last.values(func(name string, v uint64) { f.SetUint(row, s.column[name], v) })
	for name, v := range map[string]uint64{
		"proc.io.inherited_read_bytes": q.inherited.ReadBytes, "proc.io.inherited_write_bytes": q.inherited.WriteBytes,
	} {
		if s.k.inheritedWhy != metric.Present {
			f.SetMissing(row, s.column[name], s.k.inheritedWhy)
		} else {
			f.SetUint(row, s.column[name], v)
		}
	}
}

// fillGhost tells who a process was that no sweep has met.
func (s *processes) fillGhost(f *sample.Frame, row int, p *process[linuxProcess]) {
	q := &p.platform
	for name, v := range map[string]uint64{
		"proc.psinfo.pid": uint64(p.pid), "proc.psinfo.tgid": uint64(p.pid), "proc.psinfo.ppid": uint64(q.stat.PPID),
		"proc.psinfo.start_time": p.start * tickMillis, "proc.psinfo.start_wall": uint64(q.startWall / 1000),
		"proc.psinfo.unique": p.start, "proc.id.uid": q.status.UID, "proc.id.gid": q.status.GID,
	} {
		f.SetUint(row, s.column[name], v)
	}
	f.SetString(row, s.column["proc.psinfo.cmd"], p.name)
	f.SetString(row, s.column["proc.id.uid_nm"], s.k.users.name(uint32(q.status.UID)))
	f.SetString(row, s.column["proc.id.gid_nm"], s.k.groups.name(uint32(q.status.GID)))
}
