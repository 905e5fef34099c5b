package proc

import (
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// forkCount bounds the number of processes that no sweep saw, where no watcher counts them or
// where the watcher lost notices: the kernel counts all forks, threads included.
type forkCount struct {
	begun     bool
	start     uint64 // forks before the first sweep
	now       uint64
	listed    uint64 // before the last listing
	accounted uint64 // processes and threads that sweeps have seen to begin
}

// nobodySince reports whether no process can have been born since the last listing. The kernel
// counts a birth before it releases the lock under which it made the process visible. A count
// that has never moved is not trusted: some stand-ins for Linux always report zero.
func (f *forkCount) nobodySince() bool { return f.now == f.listed && f.now != f.start }

// readForks is called before the listing, so that what it has not counted yet
// cannot be missing from the listing.
func (k *linuxKernel) readForks() {
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
		k.forks.now = forks
	} else {
		k.counts.unseenMaxWhy = metric.Unsupported
	}
}

// boundUnseen is called when the sweep has counted its births.
func (k *linuxKernel) boundUnseen() {
	if k.watch != nil && k.counts.unseenWhy == metric.Present {
		k.counts.unseenMax, k.counts.unseenMaxWhy = k.counts.unseen, metric.Present
		return
	}
	if k.table.first() {
		return
	}
	k.counts.unseenMax = max(k.counts.unseenMax, k.counts.unseen)
	if total := k.forks.now - k.forks.start; total > k.forks.accounted {
		k.counts.unseenMax = max(k.counts.unseenMax, total-k.forks.accounted)
	}
}
