package proc

import (
	"cmp"
	"slices"
	"strconv"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/proc/libproc"
)

// coalitions are the resource coalitions of macOS, which launchd makes for apps and services.
type coalitions struct {
	m        *macKernel
	columns  []column[coalition]
	of       *metric.Group
	usage    *answered
	counters []*hardware
	used     uint64 // ticks of CPU time since the reading before
	byID     map[uint64]*coalition
	listed   []*coalition // in the order of the kernel's list
	list     []byte
	sweeps   uint64
	// told is the last sweep in which each class got its rows.
	told   [metric.NumClasses]uint64
	failed string // why the coalitions cannot be listed
	apps   appWatch
}

// coalition holds the last readings of one.
type coalition struct {
	instance metric.Instance
	id       uint64
	first    uint64 // the first sweep whose list had it
	seen     uint64 // the last one
	stirred  uint64 // the last sweep that found processes that had begun or ended
	living   uint32
	buf      [libproc.UsageSize]byte
	answer   []byte // the part of buf that the kernel has written
	why      metric.Reason
	// eldest is the unique number of the process that gives the coalition its name and labels,
	// its oldest member that a sweep has met; named says that there is one, and rev is the
	// revision of its instance that they are from.
	eldest uint64
	named  bool
	rev    uint32
}

func newCoalitions(m *macKernel) *coalitions {
	counters, energy, clusters, others := new(hardware), new(hardware), &hardware{rests: true}, &hardware{rests: true}
	s := &coalitions{m: m, counters: []*hardware{counters, energy, clusters, others}, byID: make(map[uint64]*coalition)}
	for word, h := range map[string]*hardware{
		"cpu_instructions": counters, "cpu_cycles": counters, "energy": energy, "cpu_ptime": clusters,
		// A Mac that counts the energy of one of them counts that of the other.
		"gpu_energy_nj": others, "ane_energy_nj": others, "ane_mach_time": others,
	} {
		m.counted[word] = h
	}
	t, usage := m.answers("coalition", "coalition_info_resource_usage ")
	s.usage = usage
	s.columns = columnsOf(t, usage, func(c *coalition) []byte { return c.answer })
	s.of = catalog.Group(catalog.Darwin, "coalition", columnNames(s.columns)...)
	return s
}

func (s *coalitions) follows() []*metric.Group { return []*metric.Group{s.of} }

// refresh has every coalition's row in the next reading, also of those that have no processes:
// an archive begins.
func (s *coalitions) refresh() { clear(s.told[:]) }

func (s *coalitions) notice() string { return s.failed }

// read implements follower. A coalition without processes uses nothing: it has a row only if
// processes of it have begun or ended since the last one.
func (s *coalitions) read(c *sample.Context, frames []*sample.Frame) {
	at := c.Now()
	if errno := s.find(); errno != 0 {
		s.failed = "coalitions cannot be listed: " + errno.Error()
		for _, f := range frames {
			f.Miss(at, macReason(errno))
		}
		return
	}
	s.failed = ""
	for _, h := range s.counters {
		h.sweep(s.m.ticks.Nanoseconds(s.used))
	}
	s.used = 0
	at = c.Now()
	s.listed = slices.DeleteFunc(s.listed, func(co *coalition) bool { return !s.ask(co) })
	s.nameAll()
	s.apps.look(c, at, s.listed)
	told := s.told[c.Class]
	for _, f := range frames {
		f.Reset(at)
		for _, co := range s.listed {
			if co.living > 0 || co.stirred > told && !c.Living {
				s.fill(co, f)
			}
		}
	}
	if !c.Living {
		s.told[c.Class] = s.sweeps
	}
	c.Now()
}

// find lists the coalitions.
func (s *coalitions) find() syscall.Errno {
	if s.list == nil {
		s.list = make([]byte, 16<<10)
	}
	n, errno := s.m.calls.Coalitions(s.list)
	for errno == 0 && n == len(s.list) {
		s.list = make([]byte, 2*len(s.list))
		n, errno = s.m.calls.Coalitions(s.list)
	}
	if errno != 0 {
		return errno
	}
	s.sweeps++
	clear(s.listed)
	s.listed = s.listed[:0]
	libproc.Coalitions(s.list[:n], func(id uint64, living uint32) {
		co := s.byID[id]
		if co == nil {
			co = &coalition{id: id, first: s.sweeps, stirred: s.sweeps}
			text := strconv.FormatUint(id, 10)
			co.instance = metric.Instance{ID: id, Key: text, Name: "coalition " + text, Labels: []metric.Label{{Name: "id", Value: text}}}
			s.byID[id] = co
		}
		co.seen, co.living = s.sweeps, living
		s.listed = append(s.listed, co)
	})
	if len(s.byID) > len(s.listed) {
		for id, co := range s.byID {
			if co.seen != s.sweeps {
				delete(s.byID, id)
			}
		}
	}
	return 0
}

// ask reads what a coalition has used; false if it has ended, or is the one of corpses, about
// which the kernel says nothing.
func (s *coalitions) ask(co *coalition) bool {
	before, ticks, began, ended := s.usage.hardwareIn(co.answer), co.ticks(), co.began(), co.ended()
	libproc.Blank(&co.buf)
	errno := s.m.calls.CoalitionUsage(co.id, co.buf[:])
	co.answer, co.why = nil, macReason(errno)
	if errno != 0 {
		return errno != syscall.ESRCH && errno != syscall.EINVAL
	}
	co.answer = libproc.Answered(&co.buf)
	if co.began() != began || co.ended() != ended {
		co.stirred = s.sweeps
	}
	s.usage.lookForCounters(co.answer)
	if co.first < s.sweeps {
		now := s.usage.hardwareIn(co.answer)
		s.usage.compare(&before, &now)
		s.used += co.ticks() - min(ticks, co.ticks())
	}
	return true
}

func (co *coalition) ticks() uint64 {
	v, _ := libproc.CoalitionTime.Uint(co.answer)
	return v
}

func (co *coalition) began() uint64 {
	v, _ := libproc.CoalitionBegan.Uint(co.answer)
	return v
}

func (co *coalition) ended() uint64 {
	v, _ := libproc.CoalitionEnded.Uint(co.answer)
	return v
}

// nameAll names coalitions after their oldest members, and follows what these are called.
func (s *coalitions) nameAll() {
	for _, p := range s.m.known() {
		co := s.byID[p.platform.coalition]
		if co == nil || co.named && (p.start > co.eldest || p.start == co.eldest && p.instance.Rev == co.rev) {
			continue
		}
		co.eldest, co.named, co.rev = p.start, true, p.instance.Rev
		s.name(co, p)
	}
}

// name gives a coalition the name of the app or service that p belongs to. Only a coalition that
// was made while this source was reading has a start: of others nobody knows what they had used
// when p began.
func (s *coalitions) name(co *coalition, p *process[macProcess]) {
	in := &co.instance
	labels := []metric.Label{{Name: "id", Value: in.Key}}
	add := func(kind, value string) {
		if value != "" {
			labels = append(labels, metric.Label{Name: kind, Value: value})
		}
	}
	if co.first > 1 {
		add("start", p.instance.Label("start"))
	}
	app, service := p.instance.Label(metric.OwnerApp), p.instance.Label(metric.OwnerService)
	add(metric.OwnerApp, app)
	add(metric.OwnerService, service)
	name := cmp.Or(app, service, cmdline.Printable(p.name), in.Name)
	if name != in.Name || !slices.Equal(labels, in.Labels) {
		in.Name, in.Labels = name, labels
		in.Rev++
	}
}

func (s *coalitions) fill(co *coalition, f *sample.Frame) {
	row := f.Row(&co.instance)
	if co.why != metric.Present {
		f.MissRow(row, co.why)
		return
	}
	for i := range s.columns {
		if !f.Wants(i) {
			continue
		}
		if why := s.columns[i].fill(co, f, row, i); why != metric.Present {
			f.SetMissing(row, i, why)
		}
	}
}
