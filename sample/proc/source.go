package proc

import (
	"errors"
	"slices"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// processes is the source of all metrics of single processes, on either kernel.
type processes[P, R any] struct {
	*census[P]
	k     kernel[P, R]
	parts []*supply[R]
	// transfers is the last of parts: what processes transferred.
	transfers *supply[R]
	groups    []*metric.Group
	column    map[string]int
	// followers read further groups, and afterwards has their frames of the current reading.
	followers  []follower
	afterwards [][]*sample.Frame
	// The frames of the current reading, by group, and the processes of their rows.
	perProcess, perMachine, settings []*sample.Frame
	filled, met, busiest             []*process[P]
	// filling is the process whose row is being filled.
	filling *process[P]
	// sockets: the current reading needs to know what was transferred.
	sockets bool
	traffic *traffic[P]
	// again is the frame in which rows may be repeated, nil for none, and since the sweep that
	// filled it last. done holds both for each class.
	again *sample.Frame
	since uint64
	done  [metric.NumClasses]struct {
		frame *sample.Frame
		sweep uint64
		net   metric.Reason // why its rows do not have what was transferred
	}
}

func newProcesses[P, R any](on catalog.Platform, k kernel[P, R], c *census[P]) *processes[P, R] {
	s := &processes[P, R]{census: c, k: k, column: make(map[string]int)}
	parts := k.parts()
	for i := range parts {
		s.parts = append(s.parts, &parts[i])
	}
	s.supplyNet()
	names := number(s.parts)
	for i, n := range names {
		s.column[n] = i
	}
	s.groups = []*metric.Group{
		catalog.Group(on, "proc", names...),
		catalog.Group(on, "procs", countNames()...),
		catalog.Group(on, "proc.control", controlNames...),
	}
	s.traffic = newTraffic(on, c)
	s.follow(s.traffic)
	if s.net.lacks != "" {
		s.lackNet()
	}
	return s
}

// follower reads further groups after each sweep, because it needs to know the processes.
type follower interface {
	follows() []*metric.Group
	read(c *sample.Context, frames []*sample.Frame)
	notice() string
}

func (s *processes[P, R]) follow(f follower) {
	s.followers, s.afterwards = append(s.followers, f), append(s.afterwards, nil)
	s.groups = append(s.groups, f.follows()...)
}

func (s *processes[P, R]) Name() string            { return "proc" }
func (s *processes[P, R]) Groups() []*metric.Group { return s.groups }

// Refresh looks again for what the kernel reports and how it names users and groups: the
// recorder may have other rights by now.
func (s *processes[P, R]) Refresh() error {
	s.Lock()
	defer s.Unlock()
	s.k.refresh()
	clear(s.done[:])
	return nil
}

// SetOptions changes, from the next reading on, how much of command lines is kept and which
// processes' threads are read. The root stays the same.
func (s *processes[P, R]) SetOptions(opt Options) error {
	if err := opt.Check(); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	opt.Root = s.opt.Root
	args := opt.Args != s.opt.Args
	s.opt = opt
	clear(s.done[:])
	s.traffic.setOptions()
	if s.net.lister != nil && s.net.spaces != nil {
		if err := s.net.spaces(); err != nil {
			return err
		}
	}
	if args {
		for _, p := range s.table.byPID {
			s.k.readArgs(p)
		}
	}
	return nil
}

func (s *processes[P, R]) Close() error {
	s.Lock()
	defer s.Unlock()
	return errors.Join(s.net.close(), s.k.close())
}

func (s *processes[P, R]) Read(c *sample.Context, frames []*sample.Frame) error {
	s.Lock()
	defer s.Unlock()
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	s.sort(frames)
	if len(s.perProcess)+len(s.perMachine) > 0 || slices.ContainsFunc(s.afterwards, func(of []*sample.Frame) bool { return len(of) > 0 }) {
		s.prepare(len(s.perMachine) > 0 || s.wants("proc.psinfo.sname"))
		s.repeat(c.Class)
		if err := s.sweep(c, at); err != nil {
			return err
		}
		if len(s.perProcess) == 1 {
			d := &s.done[c.Class]
			d.frame, d.sweep, d.net = s.perProcess[0], s.table.sweeps, s.net.why
		}
		s.countRefused()
	}
	for _, f := range s.settings {
		fillControl(f, &s.opt)
	}
	for _, f := range s.perMachine {
		s.counts.fill(f)
	}
	s.fillFinals()
	for i, frames := range s.afterwards {
		if len(frames) > 0 {
			s.followers[i].read(c, frames)
		}
	}
	return nil
}

// Notice says how many processes could not be read because only their owner or root may, and
// what is wrong with the groups that follow them.
func (s *processes[P, R]) Notice() string {
	s.Lock()
	defer s.Unlock()
	var texts []string
	if s.refused.notice != "" {
		texts = append(texts, s.refused.notice)
	}
	for _, f := range s.followers {
		if text := f.notice(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

func (s *processes[P, R]) sort(frames []*sample.Frame) {
	s.perProcess, s.perMachine, s.settings = s.perProcess[:0], s.perMachine[:0], s.settings[:0]
	for i := range s.afterwards {
		s.afterwards[i] = s.afterwards[i][:0]
	}
	for _, f := range frames {
		switch f.Full() {
		case s.groups[0]:
			s.perProcess = append(s.perProcess, f)
		case s.groups[1]:
			s.perMachine = append(s.perMachine, f)
		case s.groups[2]:
			s.settings = append(s.settings, f)
		default:
			i := slices.IndexFunc(s.followers, func(of follower) bool { return slices.Contains(of.follows(), f.Full()) })
			s.afterwards[i] = append(s.afterwards[i], f)
		}
	}
}

// stamp sets the time of the per-process and per-machine frames.
func (s *processes[P, R]) stamp(at metric.Stamp) {
	for _, f := range s.perProcess {
		f.Reset(at)
	}
	for _, f := range s.perMachine {
		f.Reset(at)
	}
}

// wants reports whether any frame asks for any of the metrics.
func (s *processes[P, R]) wants(names ...string) bool {
	for _, f := range s.perProcess {
		for _, n := range names {
			if f.Wants(s.column[n]) {
				return true
			}
		}
	}
	return false
}

// prepare finds out which calls and files the frames need.
func (s *processes[P, R]) prepare(states bool) {
	for i := range s.parts {
		s.parts[i].want(s.perProcess)
	}
	s.sockets = s.transfers.wanted || len(s.afterwards[0]) > 0
	s.k.prepare(purpose{states: states, sockets: s.wants("proc.net.tcp_count", "proc.net.udp_count")})
}

// repeat finds out whether rows of processes that have not changed may be repeated.
func (s *processes[P, R]) repeat(class metric.Class) {
	s.again = nil
	if len(s.perProcess) != 1 || s.done[class].frame != s.perProcess[0] {
		return
	}
	for i := range s.parts {
		if s.parts[i].wanted && s.parts[i].restless {
			return
		}
	}
	s.again, s.since = s.perProcess[0], s.done[class].sweep
}

// fill adds a row for a process and sets the columns that the frames ask for.
func (s *processes[P, R]) fill(p *process[P]) {
	s.filled = append(s.filled, p)
	s.filling = p
	if s.again != nil && p.failed != s.since && s.k.unchanged(p, s.since) && !s.transferred(p) && s.again.Again(p.instance) {
		return
	}
	r := s.k.reading(p)
	for _, f := range s.perProcess {
		f.Row(p.instance)
	}
	for i := range s.parts {
		if s.parts[i].wanted {
			if why := s.parts[i].fill(r, s.perProcess); why != metric.Present && why != metric.Permission {
				p.failed = s.table.sweeps
			}
		}
	}
}

// fillFinals writes the last totals of the processes that have ended into the row of their
// zombie, or into a last row of their own.
func (s *processes[P, R]) fillFinals() {
	told := false
	for _, f := range s.perProcess {
		if !f.Wants(s.column["proc.psinfo.utime"]) {
			continue
		}
		told = true
		for row, p := range s.filled {
			if p.final && s.k.zombie(p) {
				s.k.fillTotals(p, cells{f, row, s.column})
				p.finalTold, p.toldIn = true, s.table.sweeps
			}
		}
		for _, p := range s.finals {
			if s.awaited(p) {
				continue
			}
			row := f.Row(p.instance)
			s.filling = p
			r := s.k.reading(p)
			for i := range s.parts {
				s.parts[i].fillLasting(r, f, row)
			}
			if p.final {
				s.k.fillTotals(p, cells{f, row, s.column})
			}
			f.MissRow(row, metric.Vanished)
		}
	}
	if told {
		s.finals = slices.DeleteFunc(s.finals, func(p *process[P]) bool { return !s.awaited(p) })
	}
}

// cells is a row of a frame, whose columns it sets by name.
type cells struct {
	frame  *sample.Frame
	row    int
	column map[string]int
}

func (c cells) set(name string, v uint64) { c.frame.SetUint(c.row, c.column[name], v) }

func (c cells) fill(name string, v uint64, why metric.Reason) {
	if why != metric.Present {
		c.frame.SetMissing(c.row, c.column[name], why)
	} else {
		c.set(name, v)
	}
}
