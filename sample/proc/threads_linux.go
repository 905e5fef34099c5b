package proc

import (
	"slices"
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// thread is a thread of a selected process. Its number may be used again even
// within one process, so the start belongs to its key.
type thread struct {
	instance metric.Instance
	owner    *process[linuxProcess]
	tid      int32
	start    uint64
	name     string
	stat     procfs.Stat
	seen     uint64
}

// threads is the source of the threads of selected processes.
type threads struct {
	k        *kernel
	group    *metric.Group
	match    matcher
	byTID    map[int32]*thread
	sweeps   uint64
	lastID   uint64
	busiest  []*process[linuxProcess]
	selected []*process[linuxProcess]
}

var threadColumns = []column[thread]{
	{name: "thread.pid", number: func(t *thread) uint64 { return uint64(t.owner.pid) }},
	{name: "thread.tid", number: func(t *thread) uint64 { return uint64(t.tid) }},
	{name: "thread.name", text: func(t *thread) string { return t.name }},
	{name: "thread.sname", text: func(t *thread) string { return stateNames[t.stat.State] }},
	{name: "thread.utime", number: func(t *thread) uint64 { return t.stat.UTime * tickMillis }},
	{name: "thread.stime", number: func(t *thread) uint64 { return t.stat.STime * tickMillis }},
	{name: "thread.priority", number: func(t *thread) uint64 { return uint64(t.stat.Priority) }},
	{name: "thread.base_priority", number: func(t *thread) uint64 { return uint64(t.stat.Nice) }},
	{name: "thread.policy", number: func(t *thread) uint64 { return t.stat.Policy }},
	{name: "thread.processor", number: func(t *thread) uint64 { return uint64(t.stat.Processor) }},
	{name: "thread.minflt", number: func(t *thread) uint64 { return t.stat.MinFlt }},
	{name: "thread.majflt", number: func(t *thread) uint64 { return t.stat.MajFlt }},
}

func newThreads(k *kernel) *threads {
	var names []string
	for _, c := range threadColumns {
		names = append(names, c.name)
	}
	return &threads{
		k: k, group: catalog.Group(catalog.Linux, "thread", names...),
		match: newMatcher(k.opt.ThreadPattern), byTID: make(map[int32]*thread),
	}
}

func (s *threads) Name() string            { return "threads" }
func (s *threads) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *threads) Refresh() error          { return nil }

// Close leaves the table to the process source, which owns it.
func (s *threads) Close() error { return nil }

func (s *threads) Read(c *sample.Context, frames []*sample.Frame) error {
	s.k.Lock()
	defer s.k.Unlock()
	at := c.Now()
	if s.k.opt.ThreadPattern != "" || s.k.opt.ThreadTopN > 0 {
		var err error
		if at, err = s.k.sweep(c); err != nil {
			return err
		}
	}
	for _, f := range frames {
		f.Reset(at)
	}
	s.sweeps++
	for _, p := range s.choose() {
		// A process that goes away meanwhile has no threads left.
		_ = s.k.dir.listAt(p.pid, "task", func(tid int32) {
			if t := s.meet(p, tid); t != nil {
				fillThread(t, frames)
			}
		})
	}
	for tid, t := range s.byTID {
		if t.seen != s.sweeps {
			delete(s.byTID, tid)
		}
	}
	return nil
}

// choose selects the processes to look into: those that match, and the ones
// that used most CPU since the last time.
func (s *threads) choose() []*process[linuxProcess] {
	s.selected, s.busiest = s.selected[:0], s.busiest[:0]
	for _, p := range s.k.table.alive {
		q := &p.platform
		used := q.stat.UTime + q.stat.STime
		q.used, q.busy = used-min(used, q.busy), used
		if s.match.match(p.pid, p.name) {
			s.selected = append(s.selected, p)
		} else if q.used > 0 {
			s.busiest = append(s.busiest, p)
		}
	}
	if n := s.k.opt.ThreadTopN; n > 0 {
		slices.SortFunc(s.busiest, func(a, b *process[linuxProcess]) int {
			if a.platform.used != b.platform.used {
				if a.platform.used > b.platform.used {
					return -1
				}
				return 1
			}
			return int(a.pid - b.pid)
		})
		s.selected = append(s.selected, s.busiest[:min(n, len(s.busiest))]...)
	}
	return s.selected
}

// meet reads a thread and finds out whether it is one that was there before.
func (s *threads) meet(p *process[linuxProcess], tid int32) *thread {
	text, err := s.k.dir.readAt(pidPath(p.pid, "task/"+strconv.Itoa(int(tid))+"/stat"))
	if err != nil {
		return nil // it ended in the meantime
	}
	var st procfs.Stat
	if st.Parse(text) != nil {
		return nil
	}
	t := s.byTID[tid]
	if t == nil || t.owner != p || t.start != st.StartTime {
		s.lastID++
		t = &thread{owner: p, tid: tid, start: st.StartTime}
		t.instance.ID = s.lastID
		t.instance.Key = p.instance.Key + "/" + strconv.Itoa(int(tid)) + "/" + strconv.FormatUint(st.StartTime, 10)
		t.instance.Labels = []metric.Label{
			{Name: "process", Value: p.instance.Key},
			{Name: "pid", Value: strconv.Itoa(int(p.pid))},
			{Name: "tid", Value: strconv.Itoa(int(tid))},
		}
		s.byTID[tid] = t
	}
	if t.instance.Name == "" || !sameName(t.name, &st) {
		t.name = steadyName(&st)
		t.instance.Name = threadName(p.pid, uint64(tid), t.name)
		t.instance.Rev++
	}
	t.stat, t.seen = st, s.sweeps
	t.stat.Comm = nil
	return t
}

func fillThread(t *thread, frames []*sample.Frame) {
	for _, f := range frames {
		row := f.Row(&t.instance)
		for i := range threadColumns {
			if c := &threadColumns[i]; c.text != nil {
				f.SetString(row, i, c.text(t))
			} else {
				f.SetUint(row, i, c.number(t))
			}
		}
	}
}
