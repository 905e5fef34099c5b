package proc

import (
	"strconv"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// slack is how far two measures of a process's age may differ: by clock ticks, and by the time
// a notice waits before it is fetched.
const slack = int64(1500 * time.Millisecond)

// exitTotals are the last totals of a process: the sums over its threads.
type exitTotals struct {
	status, parent         uint32
	at                     int64 // continuous clock
	utime, stime           uint64
	minflt, majflt, peak   uint64
	io                     procfs.IO
	voluntary, involuntary uint64
	run                    uint64
	leader                 bool // status is that of the first thread
	// bare is set if the kernel reported how the process ended, but no totals.
	bare bool
}

func (t *exitTotals) add(e *procfs.Exit, at int64) {
	t.at, t.parent = at, e.PPID
	t.run += e.Run
	t.utime += e.UTime
	t.stime += e.STime
	t.minflt += e.MinFlt
	t.majflt += e.MajFlt
	t.peak = max(t.peak, e.PeakRSS)
	t.io.Add(&e.IO)
	t.voluntary += e.Voluntary
	t.involuntary += e.Involuntary
	if e.PID == e.TGID {
		t.status, t.leader = e.Status, true
	} else if !t.leader {
		t.status = e.Status
	}
}

// cpu returns the CPU time of all threads together.
func (t *exitTotals) cpu() uint64 {
	if t.run != 0 {
		return t.run
	}
	return t.utime + t.stime
}

// settle splits the measured CPU time into user and system time in the ratio of the sampled
// times, as the kernel does for all other readers.
func (t *exitTotals) settle() {
	sampled := t.utime + t.stime
	if t.run == 0 {
		return
	}
	t.stime = uint64(float64(t.run) * (float64(t.stime) / float64(max(1, sampled))))
	t.utime = t.run - min(t.run, t.stime)
}

// endOf records that p has ended with t. Threads may add to t until p is gone.
func (t *exitTotals) endOf(p *process[linuxProcess]) {
	p.platform.last, p.final = t, !t.bare
}

// totals returns the last totals of a process that has ended. They are at least what was read
// of it, even after the kernel reported its end: only those readings include threads that ended
// before the watcher listened.
func (q *linuxProcess) totals() *exitTotals {
	t, st := *q.last, &q.stat
	t.settle()
	t.io.AtLeast(&q.ownIO)
	t.notBefore(st)
	t.voluntary = max(t.voluntary, q.switches.voluntary)
	t.involuntary = max(t.involuntary, q.switches.forced)
	t.minflt = max(t.minflt, st.MinFlt)
	t.majflt = max(t.majflt, st.MajFlt)
	return &t
}

// notBefore keeps both times from falling below their last readings. The kernel's split of the
// sum may shift until the end: what this adds to one time it takes from the other, so that the
// sum stays as measured.
func (t *exitTotals) notBefore(st *procfs.StatNumbers) {
	const tick = uint64(time.Second / ticksPerSecond)
	utime, stime := st.UTime*tick, st.STime*tick
	sum := max(t.utime+t.stime, utime+stime)
	t.stime = min(max(t.stime, stime), sum-utime)
	t.utime = sum - t.stime
}

// values calls each with every metric in t, in the metric's unit.
func (t *exitTotals) values(each func(metric string, v uint64)) {
	if t.bare {
		return
	}
	each("proc.psinfo.utime", t.utime/1e6)
	each("proc.psinfo.stime", t.stime/1e6)
	each("proc.psinfo.minflt", t.minflt)
	each("proc.psinfo.maj_flt", t.majflt)
	each("proc.psinfo.majflt", t.majflt)
	each("proc.psinfo.faults", t.minflt+t.majflt)
	each("proc.psinfo.vctxsw", t.voluntary)
	each("proc.psinfo.nvctxsw", t.involuntary)
	each("proc.psinfo.pswitch", t.voluntary+t.involuntary)
	each("proc.io.rchar", t.io.RChar)
	each("proc.io.wchar", t.io.WChar)
	each("proc.io.logical_writes", t.io.WChar)
	each("proc.io.syscr", t.io.SyscR)
	each("proc.io.syscw", t.io.SyscW)
	each("proc.io.read_bytes", t.io.ReadBytes)
	each("proc.io.write_bytes", t.io.WriteBytes)
	each("proc.io.cancelled_write_bytes", t.io.CancelledWrite)
	each("proc.memory.vmhwm", t.peak)
}

func (t *exitTotals) labels() []metric.Label {
	var ls []metric.Label
	t.values(func(name string, v uint64) {
		ls = append(ls, metric.Label{Name: name, Value: strconv.FormatUint(v, 10)})
	})
	return ls
}

// limbo is the exit of a process that is listed but that no sweep has met yet.
type limbo struct {
	exit   procfs.Exit
	totals *exitTotals
	of     *process[linuxProcess] // the process that ended, once found
	off    int64                  // difference of the two ages
}

// fitsBetter reports whether l fits the process better than other does. Totals smaller than
// what was read of the process are another process's.
func (l *limbo) fitsBetter(other *limbo) bool {
	const tick = uint64(time.Second / ticksPerSecond)
	whole := func(x *limbo) bool { return x.totals.cpu()+tick >= x.of.cpu*tick }
	other.of = l.of
	if a, b := whole(l), whole(other); a != b {
		return a
	}
	return l.off <= other.off
}

// over is a process whose last thread's end the kernel has reported. Threads end on several
// processors at once, so another thread's notice may arrive after that of the last.
type over struct {
	totals *exitTotals
	lived  int64
	old    bool // it was reported before the previous sweep
}

// isOf reports whether e is of a thread of that process, not of a later process with the same
// pid: both began at the same time, and e's has lived at least as long.
func (o over) isOf(e *procfs.Exit, at int64) bool {
	if o.totals == nil || o.totals.bare || e.LastOfGroup || e.Lived < o.lived {
		return false
	}
	apart := (at - e.Lived) - (o.totals.at - o.lived)
	return max(apart, -apart) <= slack
}

// forgetOver drops the processes that were over before the previous sweep: a process
// is listed until the notice of its last thread has come.
func (k *linuxKernel) forgetOver() {
	for pid, o := range k.over {
		if o.old {
			delete(k.over, pid)
			continue
		}
		o.old = true
		k.over[pid] = o
	}
}

// assign finds the process of each exit. Pids may be reused so quickly that several processes
// with the same pid have ended since the previous sweep: a process gets the exit that fits its
// age best.
func (k *linuxKernel) assign(ended []limbo, now metric.Stamp) {
	by := make(map[*process[linuxProcess]]*limbo)
	for i := range ended {
		l := &ended[i]
		if l.of, l.off = k.whoEnded(int32(l.exit.TGID), l.exit.Lived, l.totals.at, now); l.of == nil {
			continue
		}
		if other := by[l.of]; other != nil && other.fitsBetter(l) {
			l.of = nil
			continue
		} else if other != nil {
			other.of = nil
		}
		by[l.of] = l
	}
}

// hear takes in the exits since the last sweep, after the listing: a process that ended and is
// in no listing has lived unseen.
func (k *linuxKernel) hear(c *sample.Context, now metric.Stamp) {
	if k.watch == nil {
		return
	}
	var ended []limbo
	lost := k.watch.take(func(e *procfs.Exit, at int64) {
		t := k.dying[e.TGID]
		if o := k.over[e.TGID]; t == nil && o.isOf(e, at) {
			o.totals.add(e, o.totals.at)
			return
		}
		if t == nil {
			t = &exitTotals{bare: k.watch.named != nil}
			k.dying[e.TGID] = t
		}
		t.add(e, at)
		if !e.LastOfGroup {
			return
		}
		delete(k.dying, e.TGID)
		k.over[e.TGID] = over{totals: t, lived: e.Lived}
		ended = append(ended, limbo{exit: *e, totals: t})
	})
	k.assign(ended, now)
	clear(k.belong.parents)
	for i := range ended {
		k.belong.parents[int32(ended[i].exit.TGID)] = int32(ended[i].exit.PPID)
	}
	for i := range ended {
		l := &ended[i]
		pid := int32(l.exit.TGID)
		switch {
		case l.of != nil:
			l.totals.endOf(l.of)
		case k.listed(pid) && k.table.lookup(pid) == nil:
			if before, ok := k.limbo[pid]; ok {
				k.ghost(c, &before.exit, before.totals, now)
			}
			k.limbo[pid] = *l
		default:
			k.ghost(c, &l.exit, l.totals, now)
		}
	}
	k.forgetOver()
	if lost {
		k.counts.unseenWhy, k.counts.startedWhy, k.inheritedWhy = exitsLost, exitsLost, exitsLost
		k.keepSwitches()
		clear(k.dying)
	}
}

// leaveLimbo is called after the walk. A process of which only the exit was known has now been
// met, is gone, or is still to be reached by a later walk.
func (k *linuxKernel) leaveLimbo(c *sample.Context, now metric.Stamp) {
	for pid, l := range k.limbo {
		if p, _ := k.whoEnded(pid, l.exit.Lived, l.totals.at, now); p != nil {
			l.totals.endOf(p)
		} else if k.listed(pid) && k.next[c.Class] != 0 {
			continue
		} else {
			k.ghost(c, &l.exit, l.totals, now)
		}
		delete(k.limbo, pid)
	}
}

// ghost takes in a process that lived unseen: all that is known of it is what the kernel
// reported at its end.
func (k *linuxKernel) ghost(c *sample.Context, e *procfs.Exit, t *exitTotals, now metric.Stamp) {
	inherited := k.heir(int32(e.TGID))
	k.bequeath(int32(e.PPID), &t.io, &inherited)
	if k.table.first() {
		return
	}
	began := t.at - max(0, e.Lived)
	if k.opened || began > k.began.Cont {
		k.counts.unseen++
	}
	if c.Living {
		return
	}
	if !k.unseen.allow(now) {
		k.counts.unrecorded++
		k.unseen.beyond(e.Name(), t.status != 0, now)
		return
	}
	start := uint64(max(0, began)) / (1e9 / ticksPerSecond)
	p := k.table.passed(int32(e.TGID), k.beside(int32(e.TGID), start))
	p.instance.Key = procfs.Key(p.pid, p.start)
	if p.name = string(e.Name()); p.name == "" {
		p.name = "(unnamed)"
	}
	q := &p.platform
	q.files = noFiles()
	q.last, q.ghost = t, true
	if inherited != nothing {
		q.inherited = &procfs.IO{}
		*q.inherited = inherited
	}
	q.stat.PPID, q.stat.StartTime = int32(e.PPID), p.start
	q.status.Tgid, q.status.UID, q.status.GID = uint64(e.TGID), uint64(e.UID), uint64(e.GID)
	q.startWall = now.Wall - now.Cont + began
	p.rename(p.name)
	k.inheritOwner(p)
	p.describe(facts{start: q.startWall, parent: k.parentKey(p), uid: strconv.FormatUint(q.status.UID, 10)})
	emit(c, exitEvent(p.instance, p.name, k.last, k.ending(p, now)))
	p.final = true
	k.finals = append(k.finals, p)
}

// beside returns start, or a start that differs from that of the process that has the pid now
// or had it a moment ago: a ghost's start is only known to within the delay of the notice of
// its end.
func (k *linuxKernel) beside(pid int32, start uint64) uint64 {
	const about = uint64(slack) / (1e9 / ticksPerSecond)
	apart := func(p *process[linuxProcess]) {
		if p != nil && p.pid == pid && start >= p.start && start-p.start <= about {
			start = p.start - min(1, p.start)
		}
	}
	apart(k.table.lookup(pid))
	for _, p := range k.table.gone {
		apart(p)
	}
	return start
}

// ghostly are the columns that have a value for a process that no sweep has met.
var ghostly = map[string]bool{
	"proc.psinfo.pid": true, "proc.psinfo.tgid": true, "proc.psinfo.ppid": true, "proc.psinfo.cmd": true,
	"proc.psinfo.start_time": true, "proc.psinfo.start_wall": true, "proc.psinfo.unique": true,
	"proc.id.uid": true, "proc.id.uid_nm": true, "proc.id.gid": true, "proc.id.gid_nm": true,
}

func (r *reading) lastingStat(d *metric.Desc) bool {
	if r.p.platform.ghost {
		return ghostly[d.Name]
	}
	return lasting(d)
}

func (r *reading) lastingStatus(d *metric.Desc) bool {
	return r.p.platform.status.Tgid != 0 && r.lastingStat(d) // it has been read
}

// unseenLabels are the extra labels of an exit event whose process had no start event.
func unseenLabels(p *metric.Instance) []metric.Label {
	labels := []metric.Label{{Name: "unseen", Value: "1"}}
	for _, l := range []string{"start", "parent", "uid"} {
		if v := p.Label(l); v != "" {
			labels = append(labels, metric.Label{Name: l, Value: v})
		}
	}
	return append(labels, p.Owners()...)
}

// whoEnded finds the process with this pid and age whose end has not been reported yet, and
// returns by how much the ages differ.
func (k *linuxKernel) whoEnded(pid int32, lived, at int64, now metric.Stamp) (found *process[linuxProcess], off int64) {
	slept := max(0, now.Cont-now.Awake) // the kernel does not count it as life
	try := func(p *process[linuxProcess]) {
		age := at - int64(p.start)*(1e9/ticksPerSecond)
		if p.pid != pid || p.platform.last != nil || lived >= 0 && (lived > age+slack || lived < age-slept-slack) {
			return
		}
		by := now.Cont - at // the latest one, if the ages are not known
		if lived >= 0 {
			by = max(lived-age, age-slept-lived, 0)
		}
		if found == nil || by < off {
			found, off = p, by
		}
	}
	for _, p := range k.table.gone {
		try(p)
	}
	if p := k.table.lookup(pid); p != nil && found == nil && !k.lives(p) {
		try(p)
	}
	return found, off
}

// exiting is the flag of a task that is on its way out, PF_EXITING. The kernel sets it before
// it reports the exit.
const exiting = 0x4

// lives reports whether p lives on, so that an exit reported under its pid is that of an
// earlier process.
func (k *linuxKernel) lives(p *process[linuxProcess]) bool {
	st := procfs.Stat{StatNumbers: p.platform.stat}
	if p.met != k.table.sweeps {
		text, err := k.dir.read(&p.platform.files, p.pid, statFile)
		if err != nil || st.Parse(text) != nil || st.StartTime != p.start {
			return false
		}
	}
	return st.State != 'Z' && st.State != 'X' && st.Flags&exiting == 0
}

func (k *linuxKernel) ending(p *process[linuxProcess], now metric.Stamp) ending {
	q := &p.platform
	e := ending{at: now}
	switch {
	case q.last != nil:
		e.at, e.exact = sinceBoot(q.last.at, now), true
		e.known, e.status = true, int(q.last.status)
		if q.ghost {
			e.more = unseenLabels(p.instance)
		} else {
			e.more = q.totals().labels()
		}
	case q.stat.State == 'Z' && (q.stat.ExitCode != 0 || q.traceable):
		e.known, e.status = true, int(q.stat.ExitCode)
	}
	return e
}

func (k *linuxKernel) fillTotals(p *process[linuxProcess], row cells) {
	q := &p.platform
	q.totals().values(row.set)
	row.fill("proc.io.inherited_read_bytes", q.fromChildren().ReadBytes, k.inheritedWhy)
	row.fill("proc.io.inherited_write_bytes", q.fromChildren().WriteBytes, k.inheritedWhy)
}

// forgetLoss makes the counts valid again after notices were lost.
func (k *linuxKernel) forgetLoss() {
	if k.watch != nil {
		k.counts.unseenWhy, k.counts.startedWhy, k.inheritedWhy = metric.Present, metric.Present, metric.Present
		if k.watch.named != nil {
			k.inheritedWhy = k.watch.noTotals
		}
	}
}
