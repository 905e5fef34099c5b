package perf

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"tachograph/sample/proc/procfs"
	"tachograph/sample/stack/symbol"
)

// processes are the processes seen so far.
type processes struct {
	all     map[int32]*process
	threads int // the number of named threads, of all processes
	gone    int
	ended   []ended       // threads whose names are still known
	left    time.Duration // time left for reading maps
}

type process struct {
	pid     int32
	key     string
	command string
	names   map[int32]string // of threads
	regions []*region        // by start
	// told says that all regions are known: the kernel reported them as it mapped them, or
	// /proc was read.
	told    bool
	asked   bool      // key and command were looked up
	lastAsk time.Time // when regions were last read
	python  *interpreter
}

// ended is a thread that has ended.
type ended struct{ pid, tid int32 }

// forget forgets the names of the threads that have ended. It may be put off while there is more
// to say about them.
func (p *processes) forget() {
	for _, e := range p.ended {
		if q := p.all[e.pid]; q != nil {
			if _, known := q.names[e.tid]; known {
				delete(q.names, e.tid)
				p.threads--
			}
		}
	}
	p.ended = p.ended[:0]
}

// Limits of what is remembered, and of what is read for one process.
const (
	maxProcesses = 1 << 14
	maxThreads   = 1 << 16
	maxRegions   = 1 << 14
	maxMaps      = 8 << 20
	// mapsTime is how long reading maps may take in a session, oneMaps how long those of one
	// process may: if the process hangs, the kernel may delay the answer.
	mapsTime = 3 * time.Second
	oneMaps  = 300 * time.Millisecond
)

func newProcesses() *processes { return &processes{all: make(map[int32]*process), left: mapsTime} }

func (p *processes) get(pid int32) *process {
	q := p.all[pid]
	if q == nil {
		if len(p.all) >= maxProcesses {
			clear(p.all)
			p.threads = 0
		}
		q = &process{pid: pid, names: make(map[int32]string)}
		p.all[pid] = q
	}
	return q
}

// look finds the key and command of a process when they are first needed.
func (p *processes) look(q *process) {
	if q.asked {
		return
	}
	q.asked = true
	st, err := readStat(fmt.Sprintf("/proc/%d/stat", q.pid))
	if err != nil {
		p.gone++
		return
	}
	q.key, q.command = procfs.Key(q.pid, st.StartTime), string(st.Comm)
}

func readStat(path string) (procfs.Stat, error) {
	var st procfs.Stat
	text, err := os.ReadFile(path)
	if err == nil {
		err = st.Parse(text)
	}
	return st, err
}

// thread returns the name of a thread of q.
func (p *processes) thread(q *process, tid int32) string {
	name, known := q.names[tid]
	if !known {
		if tid == q.pid {
			name = q.command
		} else if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", q.pid, tid)); err == nil {
			name = strings.TrimSuffix(string(text), "\n")
		}
		p.called(q, tid, name)
	}
	return name
}

func (p *processes) called(q *process, tid int32, name string) {
	if _, known := q.names[tid]; !known {
		if p.threads >= maxThreads {
			for _, other := range p.all {
				clear(other.names)
			}
			p.threads = 0
		}
		p.threads++
	}
	q.names[tid] = name
}

// hear takes in what the kernel reports about processes, in the order of time.
func (p *processes) hear(r *record) {
	switch r.kind {
	case kindCommand:
		name := string(r.name)
		if r.misc&commandExec != 0 {
			// Another program: the kernel reports all that it maps.
			q := p.get(r.pid)
			p.threads -= len(q.names)
			clear(q.names)
			q.command, q.regions, q.told, q.python = name, nil, true, nil
		} else if q := p.all[r.pid]; q != nil {
			if r.tid == r.pid {
				q.command = name
			}
			p.called(q, r.tid, name)
		}
	case kindFork:
		if parent := p.all[r.parent]; r.pid == r.parent {
			if parent != nil {
				if name, known := parent.names[r.parentTID]; known {
					p.called(parent, r.tid, name)
				}
			}
		} else if delete(p.all, r.pid); parent != nil && parent.told {
			q := p.get(r.pid)
			q.command, q.regions, q.told = parent.command, slices.Clone(parent.regions), true
		}
	case kindExit:
		if len(p.ended) < maxThreads {
			p.ended = append(p.ended, ended{r.pid, r.tid})
		}
	case kindMapping:
		if q := p.all[r.pid]; q != nil && q.told {
			q.add(&region{start: r.start, end: r.start + r.size, offset: r.offset,
				file: fileID{string(r.name), r.major, r.minor, r.inode}})
		}
	}
}

// add adds a region, which replaces those that it overlaps.
func (q *process) add(r *region) {
	i := sort.Search(len(q.regions), func(i int) bool { return q.regions[i].end > r.start })
	j := i
	for j < len(q.regions) && q.regions[j].start < r.end {
		j++
	}
	if len(q.regions)-(j-i) < maxRegions {
		q.regions = slices.Replace(q.regions, i, j, r)
	}
}

// find returns the region that contains address.
func (q *process) find(address uint64) *region {
	i := sort.Search(len(q.regions), func(i int) bool { return q.regions[i].end > address })
	if i < len(q.regions) && address >= q.regions[i].start {
		return q.regions[i]
	}
	return nil
}

// region is find, but first reads the process's maps if they are not known, and reads them
// again, at most once a second, if no region contains address.
func (p *processes) region(q *process, address uint64) *region {
	const seldom = time.Second
	r := q.find(address)
	if r != nil && q.told || time.Since(q.lastAsk) < seldom {
		return r
	}
	q.lastAsk = time.Now()
	if p.readMaps(q) {
		r = q.find(address)
	}
	return r
}

// readMaps reads /proc/PID/maps; it returns false if that is not possible (any more).
func (p *processes) readMaps(q *process) bool {
	path := fmt.Sprintf("/proc/%d/maps", q.pid)
	text, err := symbol.Within(&p.left, oneMaps, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxMaps))
	})
	if err != nil || len(text) == 0 {
		return false
	}
	var regions []*region
	procfs.Maps(text, func(m *procfs.Mapping) {
		if !m.Executable || len(regions) >= maxRegions {
			return
		}
		r := &region{start: m.Start, end: m.End, offset: m.Offset, deleted: m.Deleted,
			file: fileID{string(m.Path), m.Major, m.Minor, m.Inode}}
		if old := q.find(m.Start); old != nil && old.start == r.start && old.end == r.end && old.file == r.file {
			r = old // its image is already known
		}
		regions = append(regions, r)
	})
	q.regions, q.told = regions, true
	return true
}
