package proc

import (
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

// macThread is a thread of a selected process. Its number is never used again
// in one boot.
type macThread struct {
	instance metric.Instance
	owner    *process[macProcess]
	id       uint64
	name     string
	info     []byte
	seen     uint64
}

// macThreads is the source of the threads of selected processes.
type macThreads struct {
	m      *macTable
	group  *metric.Group
	choice selection[macProcess]
	byID   map[uint64]*macThread
	sweeps uint64
	lastID uint64
	ids    []uint64
}

func (t *macThread) number(f interface{ Uint([]byte) (uint64, bool) }) uint64 {
	v, _ := f.Uint(t.info)
	return v
}

var macThreadColumns = []column[macThread]{
	{name: "thread.pid", number: func(t *macThread) uint64 { return uint64(t.owner.pid) }},
	{name: "thread.tid", number: func(t *macThread) uint64 { return t.id }},
	{name: "thread.name", text: func(t *macThread) string { return t.name }},
	{name: "thread.sname", text: func(t *macThread) string {
		return stateNames[libproc.ThreadLetter(t.number(libproc.ThreadState))]
	}},
	{name: "thread.utime", number: func(t *macThread) uint64 { return t.number(libproc.ThreadUser) }},
	{name: "thread.stime", number: func(t *macThread) uint64 { return t.number(libproc.ThreadSystem) }},
	{name: "thread.priority", number: func(t *macThread) uint64 { return t.number(libproc.ThreadCurrent) }},
	{name: "thread.base_priority", number: func(t *macThread) uint64 { return t.number(libproc.ThreadPriority) }},
	{name: "thread.cpu_usage", number: func(t *macThread) uint64 { return t.number(libproc.ThreadUsage) }},
	{name: "thread.policy", number: func(t *macThread) uint64 { return t.number(libproc.ThreadPolicy) }},
	{name: "thread.sleep_time", number: func(t *macThread) uint64 { return t.number(libproc.ThreadSleep) }},
}

func newMacThreads(m *macTable) *macThreads {
	var names []string
	for _, c := range macThreadColumns {
		names = append(names, c.name)
	}
	return &macThreads{
		m: m, group: catalog.Group(catalog.Darwin, "thread", names...),
		choice: selection[macProcess]{match: newMatcher(m.opt.ThreadPattern)}, byID: make(map[uint64]*macThread),
	}
}

func (s *macThreads) Name() string            { return "threads" }
func (s *macThreads) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *macThreads) Refresh() error          { return nil }

// SetOptions changes whose threads are read.
func (s *macThreads) SetOptions(opt Options) error {
	if err := s.m.setOptions(opt); err != nil {
		return err
	}
	s.m.Lock()
	defer s.m.Unlock()
	s.choice.match = newMatcher(opt.ThreadPattern)
	return nil
}

// Close leaves the table to the process source, which owns it.
func (s *macThreads) Close() error { return nil }

func (s *macThreads) Read(c *sample.Context, frames []*sample.Frame) error {
	s.m.Lock()
	defer s.m.Unlock()
	at := c.Now()
	on := s.m.opt.ThreadPattern != "" || s.m.opt.ThreadTopN > 0
	if on {
		if err := s.m.sweep(c, at, s.m.opt.ThreadTopN > 0, false, nil); err != nil {
			return err
		}
	}
	for _, f := range frames {
		f.Reset(at)
	}
	if !on {
		return nil
	}
	s.sweeps++
	for _, p := range s.choice.choose(s.m.table.alive, s.m.opt.ThreadTopN, macBusy) {
		list, errno := s.m.listOf(p.pid, libproc.PIDListThreadIDs)
		if errno != 0 {
			continue // refused, or gone: there is nothing to say of its threads
		}
		s.ids = s.ids[:0]
		libproc.Threads(list, func(id uint64) { s.ids = append(s.ids, id) })
		for _, id := range s.ids {
			if t := s.meet(p, id); t != nil {
				fillMacThread(t, frames)
			}
		}
	}
	for id, t := range s.byID {
		if t.seen != s.sweeps {
			delete(s.byID, id)
		}
	}
	return nil
}

// macBusy is the CPU time that p used since this was asked the last time.
func macBusy(p *process[macProcess]) uint64 {
	q := &p.platform
	if q.taskWhy != metric.Present {
		return 0
	}
	user, _ := libproc.TUser.Uint(q.task)
	system, _ := libproc.TSystem.Uint(q.task)
	used := user + system - min(user+system, q.busy)
	q.busy = user + system
	return used
}

func (s *macThreads) meet(p *process[macProcess], id uint64) *macThread {
	t := s.byID[id]
	if t == nil || t.owner != p {
		s.lastID++
		t = &macThread{owner: p, id: id, info: make([]byte, libproc.ThreadSize)}
		t.instance.ID = s.lastID
		t.instance.Key = p.instance.Key + "/" + strconv.FormatUint(id, 10)
		t.instance.Labels = []metric.Label{
			{Name: "process", Value: p.instance.Key},
			{Name: "pid", Value: strconv.Itoa(int(p.pid))},
			{Name: "tid", Value: strconv.FormatUint(id, 10)},
		}
	}
	n, errno := s.m.calls.Info(p.pid, libproc.PIDThreadID64Info, id, t.info)
	if errno != 0 || n < libproc.ThreadSize {
		return nil // it ended in the meantime
	}
	name, _ := libproc.ThreadName.Text(t.info)
	if t.instance.Name == "" || t.name != string(name) {
		t.name = string(name)
		t.instance.Name = threadName(p.pid, id, t.name)
		t.instance.Rev++
	}
	t.seen = s.sweeps
	s.byID[id] = t
	return t
}

func fillMacThread(t *macThread, frames []*sample.Frame) {
	for _, f := range frames {
		row := f.Row(&t.instance)
		for i := range macThreadColumns {
			if c := &macThreadColumns[i]; c.text != nil {
				f.SetString(row, i, c.text(t))
			} else {
				f.SetUint(row, i, c.number(t))
			}
		}
	}
}
