package proc

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// When a process waits for a child that has ended, the kernel adds all that the
// child has read and written to the process's own account: a shell is then
// charged with what its commands did. Taken away again from what
// /proc/PID/io says, it is in the archive once, where it belongs.

// childSignal is SIGCHLD as a bit of what a process ignores. Children of a
// process that ignores it are not waited for, and leave it nothing.
const childSignal = 1 << (17 - 1)

// bequeath passes on what a process that has ended did itself, and what it had
// inherited, to its parent.
func (k *linuxKernel) bequeath(parent int32, own, inherited *procfs.IO) {
	p := k.table.lookup(parent)
	if p == nil {
		p = k.leaving[parent]
	}
	if p == nil {
		// Most likely it has ended as well, and the notice of that comes next. Or
		// it began after the processes were listed.
		left := k.legacies[parent]
		left.Add(own)
		left.Add(inherited)
		k.legacies[parent] = left
		return
	}
	p.platform.inherit(own)
	p.platform.inherit(inherited)
}

// inherit adds what a child has left, unless the process waits for none: the
// kernel then adds nothing to it.
func (q *linuxProcess) inherit(left *procfs.IO) {
	if q.stat.Ignored&childSignal == 0 {
		q.inherited.Add(left)
	}
}

// heir takes what has been left to a pid before anything was known of it.
func (k *linuxKernel) heir(pid int32) procfs.IO {
	left := k.legacies[pid]
	delete(k.legacies, pid)
	return left.IO
}

// leave has those who are gone pass on what they leave, children before their
// parents: what a whole family has done comes to whoever waited for the eldest.
func (k *linuxKernel) leave() {
	if k.watch == nil || k.watch.named != nil || len(k.table.gone) == k.left {
		return
	}
	gone := slices.Clone(k.table.gone[k.left:])
	k.left = len(k.table.gone)
	slices.SortFunc(gone, func(a, b *process[linuxProcess]) int {
		return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.pid, a.pid))
	})
	for _, p := range gone {
		k.leaving[p.pid] = p
	}
	for _, p := range gone {
		q := &p.platform
		left := k.heir(p.pid)
		q.inherit(&left)
		delete(k.leaving, p.pid)
		if q.last != nil {
			k.bequeath(int32(q.last.parent), &q.totals().io, &q.inherited)
		} else {
			k.bequeath(q.stat.PPID, &q.ownIO, &q.inherited)
		}
	}
}

// forgetLegacies drops what nobody has come for, two sweeps that met every
// process after it was left: who began while the first one was under way is
// met by the second.
func (k *linuxKernel) forgetLegacies(metAll bool) {
	for pid, left := range k.legacies {
		if left.old && metAll {
			delete(k.legacies, pid)
			continue
		}
		left.old = left.old || metAll
		k.legacies[pid] = left
	}
}

// legacy is what has been left to a pid.
type legacy struct {
	procfs.IO
	old bool
}

// separate works out what the process itself has read and written. What it
// inherited before the recorder began nobody can tell any more, but that does
// not grow.
func (q *linuxProcess) separate() {
	own := q.io
	own.Less(&q.inherited)
	q.ownIO.AtLeast(&own)
}

// inheritedMissing says why it is not known what a process has inherited; its
// own account then holds that as well.
func (r *reading) inheritedMissing() metric.Reason { return r.k.inheritedWhy }
