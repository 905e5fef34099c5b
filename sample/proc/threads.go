package proc

import (
	"cmp"
	"slices"
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// thread is a thread of a selected process. T is what the platform keeps of it.
type thread[P, T any] struct {
	instance metric.Instance
	owner    *process[P]
	id       uint64
	start    uint64 // distinguishes threads of one process with the same number
	name     string
	seen     uint64
	platform T
}

// threadKernel is what differs between platforms about threads.
type threadKernel[P, T any] interface {
	// threadIDs appends the numbers of the threads of p; none if the kernel refuses them or p
	// is gone.
	threadIDs(p *process[P], ids []uint64) []uint64
	// readThread reads one; false if it has ended in the meantime.
	readThread(p *process[P], id uint64, into *T) (start uint64, name []byte, ok bool)
}

// threads is the source of the threads of selected processes.
type threads[P, R, T any] struct {
	all     *processes[P, R]
	k       threadKernel[P, T]
	columns []column[thread[P, T]]
	// reused says that a number may be reused within one process, so that the start is part of
	// the key.
	reused bool
	group  *metric.Group
	choice selection[P]
	byID   map[uint64]*thread[P, T]
	sweeps uint64
	lastID uint64
	// Where reading goes on if there were too many threads for one tick, and the sweep in which
	// the current round through all of them began.
	nextPID int32
	nextID  uint64
	round   uint64
	ids     []uint64
	latest  T
}

func newThreads[P, R, T any](on catalog.Platform, all *processes[P, R], k threadKernel[P, T], columns []column[thread[P, T]]) *threads[P, R, T] {
	return &threads[P, R, T]{
		all: all, k: k, columns: columns, reused: on == catalog.Linux,
		group:  catalog.Group(on, "thread", columnNames(columns)...),
		choice: selection[P]{match: newMatcher(all.opt.ThreadPattern)}, byID: make(map[uint64]*thread[P, T]),
	}
}

func (s *threads[P, R, T]) Name() string            { return "threads" }
func (s *threads[P, R, T]) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *threads[P, R, T]) Refresh() error          { return nil }

// SetOptions changes which processes' threads are read.
func (s *threads[P, R, T]) SetOptions(opt Options) error {
	if err := s.all.SetOptions(opt); err != nil {
		return err
	}
	s.all.Lock()
	defer s.all.Unlock()
	s.choice.match = newMatcher(opt.ThreadPattern)
	return nil
}

// Close leaves the table to the process source, which owns it.
func (s *threads[P, R, T]) Close() error { return nil }

func (s *threads[P, R, T]) Read(c *sample.Context, frames []*sample.Frame) error {
	s.all.Lock()
	defer s.all.Unlock()
	at := c.Now()
	if opt := &s.all.opt; opt.ThreadPattern != "" || opt.ThreadTopN > 0 {
		s.all.sort(nil)
		s.all.prepare(opt.ThreadTopN > 0)
		if err := s.all.sweep(c, at); err != nil {
			return err
		}
	}
	for _, f := range frames {
		f.Reset(at)
	}
	s.sweeps++
	if s.readAll(c, frames) {
		for id, t := range s.byID {
			if t.seen < s.round {
				delete(s.byID, id)
			}
		}
		s.round = s.sweeps + 1
	}
	return nil
}

// threadsTogether is how many threads are read between two looks at the clock.
const threadsTogether = 64

// readAll reads the threads of the chosen processes, from where it stopped the last time. It
// returns false if it ran out of time again.
func (s *threads[P, R, T]) readAll(c *sample.Context, frames []*sample.Frame) (done bool) {
	chosen := s.choice.choose(s.all.known(), s.all.opt.ThreadTopN)
	slices.SortFunc(chosen, func(a, b *process[P]) int { return cmp.Compare(a.pid, b.pid) })
	from, same := slices.BinarySearchFunc(chosen, s.nextPID, func(p *process[P], pid int32) int { return cmp.Compare(p.pid, pid) })
	first := uint64(0)
	if same {
		first = s.nextID
	}
	s.nextPID, s.nextID = 0, 0
	read, total := 0, 0
	for _, p := range chosen {
		total += p.threads
	}
	for i := range len(chosen) {
		p := chosen[(from+i)%len(chosen)]
		s.ids = s.k.threadIDs(p, s.ids[:0])
		slices.Sort(s.ids)
		for _, id := range s.ids {
			if i == 0 && id < first {
				continue
			}
			if read > 0 && read%threadsTogether == 0 && c.Late() {
				s.nextPID, s.nextID = p.pid, id
				c.Partly(read, max(total, read))
				return false
			}
			if t := s.meet(p, id); t != nil {
				s.fill(t, frames)
			}
			read++
		}
	}
	return first == 0
}

// meet reads a thread and finds out whether it is a known one.
func (s *threads[P, R, T]) meet(p *process[P], id uint64) *thread[P, T] {
	start, name, ok := s.k.readThread(p, id, &s.latest)
	if !ok {
		return nil
	}
	t := s.byID[id]
	if t == nil || t.owner != p || t.start != start {
		s.lastID++
		t = &thread[P, T]{owner: p, id: id, start: start}
		number := strconv.FormatUint(id, 10)
		t.instance.ID = s.lastID
		t.instance.Key = p.instance.Key + "/" + number
		if s.reused {
			t.instance.Key += "/" + strconv.FormatUint(start, 10)
		}
		t.instance.Labels = []metric.Label{
			{Name: "process", Value: p.instance.Key},
			{Name: "pid", Value: strconv.Itoa(int(p.pid))},
			{Name: "tid", Value: number},
		}
		s.byID[id] = t
	}
	if t.instance.Name == "" || t.name != string(name) {
		t.name = string(name)
		t.instance.Name = threadName(p.pid, id, t.name)
		t.instance.Rev++
	}
	t.platform, t.seen = s.latest, s.sweeps
	return t
}

func (s *threads[P, R, T]) fill(t *thread[P, T], frames []*sample.Frame) {
	for _, f := range frames {
		row := f.Row(&t.instance)
		for i := range s.columns {
			s.columns[i].fill(t, f, row, i)
		}
	}
}
