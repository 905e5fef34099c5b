package proc

import (
	"strconv"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// slack is how far two accounts of a process's age may differ: clock ticks,
// and the time a notice waits before it is fetched.
const slack = int64(1500 * time.Millisecond)

// exitTotals are the last totals of a process: the sums over its threads.
type exitTotals struct {
	status                 uint32
	at                     int64 // continuous clock
	utime, stime           uint64
	minflt, majflt, peak   uint64
	io                     procfs.IO
	voluntary, involuntary uint64
	run                    uint64
	leader                 bool // status is that of the first thread
}

func (t *exitTotals) add(e *procfs.Exit, at int64) {
	t.at = at
	t.run += e.Run
	t.utime += e.UTime
	t.stime += e.STime
	t.minflt += e.MinFlt
	t.majflt += e.MajFlt
	t.peak = max(t.peak, e.PeakRSS)
	t.io.RChar += e.IO.RChar
	t.io.WChar += e.IO.WChar
	t.io.SyscR += e.IO.SyscR
	t.io.SyscW += e.IO.SyscW
	t.io.ReadBytes += e.IO.ReadBytes
	t.io.WriteBytes += e.IO.WriteBytes
	t.io.CancelledWrite += e.IO.CancelledWrite
	t.voluntary += e.Voluntary
	t.involuntary += e.Involuntary
	if e.PID == e.TGID {
		t.status, t.leader = e.Status, true
	} else if !t.leader {
		t.status = e.Status
	}
}

// settle splits the measured CPU time as the sampled times are split, which is
// what the kernel does for everybody else who asks.
func (t *exitTotals) settle() {
	sampled := t.utime + t.stime
	if t.run == 0 {
		return
	}
	t.stime = uint64(float64(t.run) * (float64(t.stime) / float64(max(1, sampled))))
	t.utime = t.run - min(t.run, t.stime)
}

// atLeast raises the times and faults to what was read of the living process:
// threads that ended before the watcher listened are only in there.
func (t *exitTotals) atLeast(st *procfs.Stat) {
	const tick = uint64(time.Second / ticksPerSecond)
	t.utime = max(t.utime, st.UTime*tick)
	t.stime = max(t.stime, st.STime*tick)
	t.minflt = max(t.minflt, st.MinFlt)
	t.majflt = max(t.majflt, st.MajFlt)
}

// values calls each with the metrics that t knows, in their units.
func (t *exitTotals) values(each func(metric string, v uint64)) {
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

// hear takes in the exits since the last sweep, after the listing: whoever
// ended and is in no listing has lived unseen.
func (k *kernel) hear(now metric.Stamp) {
	if k.watch == nil {
		return
	}
	lost := k.watch.take(func(e *procfs.Exit, at int64) {
		t := k.dying[e.TGID]
		if t == nil {
			t = new(exitTotals)
			k.dying[e.TGID] = t
		}
		t.add(e, at)
		if !e.LastOfGroup {
			return
		}
		delete(k.dying, e.TGID)
		if p := k.whoEnded(int32(e.TGID), e.Lived, at, now); p != nil {
			t.settle()
			t.atLeast(&p.platform.stat)
			p.platform.last = t
			return
		}
		if !k.table.first() {
			k.counts.unseen++
		}
	})
	if lost {
		k.counts.unseenWhy, k.counts.startedWhy = exitsLost, exitsLost
		clear(k.dying)
	}
}

// whoEnded finds the process with the pid and the age that has not been
// reported yet.
func (k *kernel) whoEnded(pid int32, lived, at int64, now metric.Stamp) *process[linuxProcess] {
	slept := max(0, now.Cont-now.Awake) // the kernel does not count it as life
	fits := func(p *process[linuxProcess]) bool {
		age := at - int64(p.start)*(1e9/ticksPerSecond)
		return p.pid == pid && p.platform.last == nil && lived <= age+slack && lived >= age-slept-slack
	}
	for _, p := range k.table.gone {
		if fits(p) {
			return p
		}
	}
	if p := k.table.lookup(pid); p != nil && fits(p) {
		return p
	}
	return nil
}

// farewell makes the event of the end of a process, once: when it is a zombie,
// or when it is gone.
func (k *kernel) farewell(p *process[linuxProcess], now metric.Stamp) (metric.Event, bool) {
	q := &p.platform
	if q.farewell {
		return metric.Event{}, false
	}
	q.farewell = true
	e := ending{at: now}
	zombie := q.stat.State == 'Z'
	switch {
	case q.last != nil:
		e.at, e.exact = sinceBoot(q.last.at, now), true
		e.known, e.status = true, int(q.last.status)
		e.totals = q.last.labels()
		if !zombie {
			k.finals = append(k.finals, p)
		}
	case zombie && (q.stat.ExitCode != 0 || q.traceable):
		e.known, e.status = true, int(q.stat.ExitCode)
	}
	return exitEvent(&p.instance, p.name, k.last, e), true
}

// forgetLoss begins to count again after notices were lost.
func (k *kernel) forgetLoss() {
	if k.watch != nil {
		k.counts.unseenWhy, k.counts.startedWhy = metric.Present, metric.Present
	}
}

// forkCount bounds the number of processes that nobody saw, where no watcher
// counts them: the kernel counts what was forked, threads included.
type forkCount struct {
	begun     bool
	start     uint64 // forks before the first sweep
	accounted uint64 // processes and threads that sweeps have seen to begin
}

// readForks is called before the listing, so that what it has not counted yet
// cannot be missing from the listing.
func (k *kernel) readForks() {
	if k.watch != nil {
		return
	}
	text, err := k.dir.readAt("stat")
	if err != nil {
		k.counts.unseenMaxWhy = reasonFor(err)
		return
	}
	if forks, _, ok := procfs.Forks(text); ok {
		k.counts.unseenMaxWhy = metric.Present
		if !k.forks.begun {
			k.forks.begun, k.forks.start = true, forks
		}
		k.forksNow = forks
	} else {
		k.counts.unseenMaxWhy = metric.Unsupported
	}
}

// boundUnseen is called when the sweep has counted its births.
func (k *kernel) boundUnseen() {
	if k.watch != nil {
		k.counts.unseenMax, k.counts.unseenMaxWhy = k.counts.unseen, k.counts.unseenWhy
		return
	}
	if k.table.first() {
		return
	}
	if total := k.forksNow - k.forks.start; total > k.forks.accounted {
		k.counts.unseenMax = max(k.counts.unseenMax, total-k.forks.accounted)
	}
}
