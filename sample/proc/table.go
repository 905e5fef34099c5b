package proc

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/socket"
)

// process is one process in the table. P is what the platform keeps of it besides.
type process[P any] struct {
	pid int32
	// start distinguishes the process from earlier and later ones with its pid: ticks since
	// boot on Linux, the kernel's unique number on macOS.
	start uint64
	// begin is when it began in the ticks that macOS's reports state; 0 if that is not known.
	begin uint64
	// instance is separate because its users keep it after the process has ended, and the rest
	// of process is ten times as large.
	instance *metric.Instance
	owner    *owner.Owner   // whose it is; nil until somebody has looked
	held     *socket.Holder // what it transferred; nil until it has sockets
	name     string
	seen     uint64 // the last sweep whose listing had it
	met      uint64 // the last sweep that met it
	born     uint64 // the first sweep that met it
	threads  int
	// CPU time in the kernel's unit, and how much of it was used between the last two sweeps
	// and between the last two readings of threads.
	cpu             uint64
	swept, threaded use
	ahead           uint64 // the last sweep that read it before the others
	// executed marks an exec that no event has reported yet; was is the name before it, and
	// execAt its time, if known.
	executed bool
	was      string
	execAt   metric.Stamp
	told     bool   // its end has been emitted
	failed   uint64 // the last sweep in which not all that its row needed could be read
	// final: its last totals are known. finalTold: a row holds them, since the sweep toldIn.
	final, finalTold bool
	toldIn           uint64
	platform         P
}

// use is how much CPU time a process used from one look to the next.
type use struct{ upTo, used uint64 }

// look takes in the CPU time that a process has used by now.
func (u *use) look(cpu uint64) { u.used, u.upTo = cpu-min(cpu, u.upTo), cpu }

// toldAll reports whether a row has the last totals of p, and has what it transferred.
func (p *process[P]) toldAll() bool {
	return p.finalTold && (p.held == nil || p.held.Changed <= p.toldIn)
}

// sortByUse sorts by CPU time used, most first.
func sortByUse[P any](list []*process[P], of func(*process[P]) *use) {
	slices.SortFunc(list, func(a, b *process[P]) int {
		return cmp.Or(cmp.Compare(of(b).used, of(a).used), cmp.Compare(a.pid, b.pid))
	})
}

// table holds the living processes. It never mixes up two processes with the same pid, and it
// reuses its memory from sweep to sweep.
type table[P any] struct {
	byPID map[int32]*process[P]
	// alive are the processes that the current sweep has met, in that order.
	alive []*process[P]
	// gone are the processes that the current sweep found to have ended.
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

// first reports whether the current sweep is the first: the processes it meets may be older
// than the recorder.
func (t *table[P]) first() bool { return t.sweeps == 1 }

// lookup returns the process that had the pid at the last sweep, or nil.
func (t *table[P]) lookup(pid int32) *process[P] { return t.byPID[pid] }

// list notes that p is in the listing of this sweep. The sweep may have no time to meet it.
func (t *table[P]) list(p *process[P]) { p.seen = t.sweeps }

// meet notes that p is alive in this sweep.
func (t *table[P]) meet(p *process[P]) {
	t.list(p)
	if p.met != t.sweeps {
		p.met = t.sweeps
		t.alive = append(t.alive, p)
	}
}

// add adds a new process. A process that had the same pid before is gone.
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

// passed makes a process that began and ended between two sweeps. No sweep has it.
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

// end closes the sweep: processes that were not listed have ended. Do not call it after a
// listing that failed half-way.
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

// describe sets the instance's labels, which are kept wherever the instance is.
func (p *process[P]) describe(f facts) {
	in := p.instance
	labels := make([]metric.Label, 0, 7)
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
	in.Labels = append(labels, p.owners().Labels()...)
	in.Rev++
}

// relabel changes one label, in a new slice: others may still hold the old one.
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

// facts describe a process from the moment it is first seen.
type facts struct {
	start            int64 // wall clock, nanoseconds since 1970; 0 is unknown
	parent, uid, exe string
}

// wallText formats an instant for a label.
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
