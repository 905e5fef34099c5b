package proc

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
)

// process is one process as the table knows it. P is what a platform keeps of
// it besides.
type process[P any] struct {
	pid int32
	// start tells the process from others that had or will have its pid: ticks
	// since boot on Linux, the kernel's unique number on macOS.
	start uint64
	// Who was shown it keeps it when the process, of which there is ten times more
	// to know, has ended.
	instance *metric.Instance
	name     string
	seen     uint64 // the last sweep whose listing had it
	met      uint64 // the last sweep that met it
	born     uint64 // the first
	threads  int
	// CPU time in the kernel's unit, and how much of it was used between two sweeps
	// and between two readings of threads.
	cpu             uint64
	swept, threaded use
	ahead           uint64 // the last sweep that read it ahead of the others
	// An exec that no event has told of yet: the name before it, and when it
	// was, if that is known.
	executed bool
	was      string
	execAt   metric.Stamp
	told     bool // of its end
	// Its last totals are known, and a row holds them.
	final, finalTold bool
	platform         P
}

// use is how much CPU time a process used from one look to the next.
type use struct{ upTo, used uint64 }

// look takes in the CPU time that a process has used by now.
func (u *use) look(cpu uint64) { u.used, u.upTo = cpu-min(cpu, u.upTo), cpu }

// sortByUse puts those who used most first.
func sortByUse[P any](list []*process[P], of func(*process[P]) *use) {
	slices.SortFunc(list, func(a, b *process[P]) int {
		return cmp.Or(cmp.Compare(of(b).used, of(a).used), cmp.Compare(a.pid, b.pid))
	})
}

// table holds the living processes. It never mixes up two that had the same
// pid, and it keeps its memory from sweep to sweep.
type table[P any] struct {
	byPID map[int32]*process[P]
	// alive are those that the current sweep has met, in the order of that.
	alive []*process[P]
	// gone are those that the current sweep found to have ended.
	gone   []*process[P]
	sweeps uint64
	lastID uint64
	// exits counts the processes that were in the table and have ended.
	births, exits uint64
}

func newTable[P any]() *table[P] { return &table[P]{byPID: make(map[int32]*process[P])} }

// begin starts a sweep.
func (t *table[P]) begin() {
	t.sweeps++
	t.alive = t.alive[:0]
	clear(t.gone)
	t.gone = t.gone[:0]
}

// first reports whether the current sweep is the first: whoever it meets was
// there before.
func (t *table[P]) first() bool { return t.sweeps == 1 }

// lookup returns who had the pid at the last sweep, or nil.
func (t *table[P]) lookup(pid int32) *process[P] { return t.byPID[pid] }

// list notes that p is in the listing of this sweep, which may have no time to
// meet it.
func (t *table[P]) list(p *process[P]) { p.seen = t.sweeps }

// meet notes that p is alive in this sweep.
func (t *table[P]) meet(p *process[P]) {
	t.list(p)
	if p.met != t.sweeps {
		p.met = t.sweeps
		t.alive = append(t.alive, p)
	}
}

// add notes a process that was not there before. Whoever had its pid is gone.
func (t *table[P]) add(pid int32, start uint64, key string) *process[P] {
	if old := t.byPID[pid]; old != nil {
		t.bury(old)
	}
	t.lastID++
	p := &process[P]{pid: pid, start: start, born: t.sweeps, instance: &metric.Instance{ID: t.lastID, Key: key}}
	t.byPID[pid] = p
	t.births++
	t.meet(p)
	return p
}

// passed makes a process that began and ended while nobody looked: it is in no
// sweep.
func (t *table[P]) passed(pid int32, start uint64) *process[P] {
	t.lastID++
	return &process[P]{pid: pid, start: start, born: t.sweeps, instance: &metric.Instance{ID: t.lastID}}
}

// bury notes that p has ended.
func (t *table[P]) bury(p *process[P]) {
	if t.byPID[p.pid] == p {
		delete(t.byPID, p.pid)
	}
	t.gone = append(t.gone, p)
	t.exits++
}

// end closes the sweep: whoever was not listed has ended. A listing that failed
// half-way must not end here.
func (t *table[P]) end() {
	if len(t.byPID) == len(t.alive) {
		return
	}
	for _, p := range t.byPID {
		if p.seen != t.sweeps {
			t.bury(p)
		}
	}
}

// rename gives p a new name; people see "001234 Safari".
func (p *process[P]) rename(name string) {
	p.name = name
	in := p.instance
	in.Name = instanceName(p.pid, name)
	in.Rev++
}

// describe sets the labels that go with the instance wherever it is kept.
func (p *process[P]) describe(f facts) {
	in := p.instance
	labels := make([]metric.Label, 0, 5)
	add := func(name, value string) {
		if value != "" {
			labels = append(labels, metric.Label{Name: name, Value: value})
		}
	}
	add("pid", strconv.Itoa(int(p.pid)))
	if f.start != 0 {
		add("start", wallText(f.start))
	}
	add("parent", f.parent)
	add("uid", f.uid)
	add("exe", f.exe)
	in.Labels = labels
	in.Rev++
}

// relabel changes one label. Keepers may hold on to the old ones.
func (p *process[P]) relabel(name, value string) {
	in := p.instance
	labels := make([]metric.Label, 0, len(in.Labels)+1)
	for _, l := range in.Labels {
		if l.Name != name {
			labels = append(labels, l)
		}
	}
	if value != "" {
		labels = append(labels, metric.Label{Name: name, Value: value})
	}
	in.Labels = labels
	in.Rev++
}

// facts are what describes a process from its first sight on.
type facts struct {
	start            int64 // wall clock, nanoseconds since 1970; 0 is unknown
	parent, uid, exe string
}

// wallText is how labels give an instant.
func wallText(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

func instanceName(pid int32, name string) string {
	b := append(sixDigits(make([]byte, 0, 7+len(name)), uint64(pid)), ' ')
	return string(append(b, cmdline.Printable(name)...))
}

func threadName(pid int32, tid uint64, name string) string {
	b := append(sixDigits(make([]byte, 0, 14+len(name)), uint64(pid)), '/')
	b = append(sixDigits(b, tid), ' ')
	return string(append(b, cmdline.Printable(name)...))
}

// sixDigits appends n as PCP writes process numbers, with zeros in front.
func sixDigits(b []byte, n uint64) []byte {
	digits := strconv.FormatUint(n, 10)
	for range 6 - len(digits) {
		b = append(b, '0')
	}
	return append(b, digits...)
}
