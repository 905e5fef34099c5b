package proc

import (
	"cmp"
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
	k      *kernel
	group  *metric.Group
	choice selection[linuxProcess]
	byTID  map[int32]*thread
	sweeps uint64
	lastID uint64
	// Where reading goes on when there were too many threads for one tick, and
	// when the round through all of them began.
	nextPID, nextTID int32
	round            uint64
	tids             []int32
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
		choice: selection[linuxProcess]{match: newMatcher(k.opt.ThreadPattern)}, byTID: make(map[int32]*thread),
	}
}

func (s *threads) Name() string            { return "threads" }
func (s *threads) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *threads) Refresh() error          { return nil }

// SetOptions changes whose threads are read.
func (s *threads) SetOptions(opt Options) error {
	if err := s.k.setOptions(opt); err != nil {
		return err
	}
	s.k.Lock()
	defer s.k.Unlock()
	s.choice.match = newMatcher(opt.ThreadPattern)
	return nil
}

// Close leaves the table to the process source, which owns it.
func (s *threads) Close() error { return nil }

func (s *threads) Read(c *sample.Context, frames []*sample.Frame) error {
	s.k.Lock()
	defer s.k.Unlock()
	at := c.Now()
	if s.k.opt.ThreadPattern != "" || s.k.opt.ThreadTopN > 0 {
		if err := s.k.sweep(c, at, nil); err != nil {
			return err
		}
	}
	for _, f := range frames {
		f.Reset(at)
	}
	s.sweeps++
	if s.readAll(c, frames) {
		for tid, t := range s.byTID {
			if t.seen < s.round {
				delete(s.byTID, tid)
			}
		}
		s.round = s.sweeps + 1
	}
	return nil
}

// threadsTogether is how many threads are read between two looks at the clock.
const threadsTogether = 64

// readAll reads the threads of the chosen processes, from where it had to stop
// the last time; false when it shall stop again before it is done.
func (s *threads) readAll(c *sample.Context, frames []*sample.Frame) (done bool) {
	chosen := s.choice.choose(s.k.known(), s.k.opt.ThreadTopN, busy)
	slices.SortFunc(chosen, func(a, b *process[linuxProcess]) int { return cmp.Compare(a.pid, b.pid) })
	from, same := slices.BinarySearchFunc(chosen, s.nextPID, func(p *process[linuxProcess], pid int32) int { return cmp.Compare(p.pid, pid) })
	first := int32(0)
	if same {
		first = s.nextTID
	}
	s.nextPID, s.nextTID = 0, 0
	read, all := 0, 0
	for _, p := range chosen {
		all += int(p.platform.stat.Threads)
	}
	for i := range len(chosen) {
		p := chosen[(from+i)%len(chosen)]
		s.tids = s.tids[:0]
		// A process that goes away meanwhile has no threads left.
		_ = s.k.dir.listAt(p.pid, "task", func(tid int32) { s.tids = append(s.tids, tid) })
		slices.Sort(s.tids)
		for _, tid := range s.tids {
			if i == 0 && tid < first {
				continue
			}
			if read > 0 && read%threadsTogether == 0 && c.Late() {
				s.nextPID, s.nextTID = p.pid, tid
				c.Partly(read, max(all, read))
				return false
			}
			if t := s.meet(p, tid); t != nil {
				fillThread(t, frames)
			}
			read++
		}
	}
	return first == 0
}

// busy is the CPU time that p used since this was asked the last time.
func busy(p *process[linuxProcess]) uint64 {
	q := &p.platform
	total := q.stat.UTime + q.stat.STime
	used := total - min(total, q.busy)
	q.busy = total
	return used
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
