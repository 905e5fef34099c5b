package proc

import (
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
	if len(s.perProcess)+len(s.perMachine) > 0 {
		var err error
		if at, err = s.k.sweep(c); err != nil {
			return err
		}
	}
	for _, f := range frames {
		f.Reset(at)
	}
	for _, f := range s.settings {
		fillControl(f, &s.k.opt)
	}
	for _, f := range s.perMachine {
		s.k.counts.fill(f)
	}
	if len(s.perProcess) > 0 {
		s.fill()
	}
	return nil
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

func (s *processes) fill() {
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
	for _, p := range k.table.alive {
		s.reading.p, s.reading.schedRead = p, false
		for _, f := range s.perProcess {
			f.Row(&p.instance)
		}
		for _, part := range s.wanted {
			part.fill(&s.reading, s.perProcess)
		}
	}
	s.fillFinals()
}

// fillFinals gives those who have ended their last row.
func (s *processes) fillFinals() {
	told := false
	for _, f := range s.perProcess {
		if !f.Wants(s.utime) {
			continue
		}
		told = true
		for _, p := range s.k.finals {
			row := f.Row(&p.instance)
			s.reading.p = p
			s.parts[statPart].fillLasting(&s.reading, f, row)
			if p.platform.status.Tgid != 0 { // it has been read
				s.parts[statusPart].fillLasting(&s.reading, f, row)
			}
			p.platform.last.values(func(name string, v uint64) { f.SetUint(row, s.column[name], v) })
			f.MissRow(row, metric.Vanished)
		}
	}
	if told {
		s.k.finals = s.k.finals[:0]
	}
}
