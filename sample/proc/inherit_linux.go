package proc

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// When a process waits for a child that has ended, the kernel adds all that the child has read
// and written to the process's own account: a shell is then charged with what its commands did.
// Here that is subtracted again from /proc/PID/io, so that the archive has it once, for the
// process that did it.

// childSignal is the bit of SIGCHLD in the mask of ignored signals. A process that ignores it
// does not wait for its children, and inherits nothing.
const childSignal = 1 << (17 - 1)

// bequeath passes what an ended process read and wrote itself, and what it had inherited, to
// its parent.
func (k *linuxKernel) bequeath(parent int32, own, inherited *procfs.IO) {
	p := k.table.lookup(parent)
	if p == nil {
		p = k.leaving[parent]
	}
	if p == nil {
		// Most likely the parent has ended as well, and its notice comes next. Or it began
		// after the processes were listed.
		left := k.legacies[parent]
		left.Add(own)
		left.Add(inherited)
		k.legacies[parent] = left
		return
	}
	p.platform.inherit(own)
	p.platform.inherit(inherited)
	p.platform.changed = k.table.sweeps + 1 // rows of this sweep may have been filled already
}

// inherit adds what a child has left, unless the process does not wait for children: then the
// kernel adds nothing either.
func (q *linuxProcess) inherit(left *procfs.IO) {
	if q.stat.Ignored&childSignal == 0 {
		if q.inherited == nil {
			q.inherited = new(procfs.IO)
		}
		q.inherited.Add(left)
	}
}

// heir takes what was left to a pid before its process was known.
func (k *linuxKernel) heir(pid int32) procfs.IO {
	left := k.legacies[pid]
	delete(k.legacies, pid)
	return left.IO
}

// leave passes on what the gone processes leave, children before their parents: the total of a
// whole family reaches the process that waited for the eldest.
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
			k.bequeath(int32(q.last.parent), &q.totals().io, q.fromChildren())
		} else {
			k.bequeath(q.stat.PPID, &q.ownIO, q.fromChildren())
		}
	}
}

// forgetLegacies drops a legacy that no process has claimed after two sweeps that met every
// process: a process that began during the first is met by the second.
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

// separate computes what the process itself has read and written. What it inherited before the
// recorder began can no longer be known, but that does not grow.
func (q *linuxProcess) separate() {
	own := q.io
	own.Less(q.fromChildren())
	q.ownIO.AtLeast(&own)
}

// nothing is what most processes inherit.
var nothing procfs.IO

// fromChildren returns what the process has inherited, not to be changed.
func (q *linuxProcess) fromChildren() *procfs.IO { return cmp.Or(q.inherited, &nothing) }

// inheritedMissing returns why a process's inherited reads and writes are not known; its own
// account then includes them.
func (r *reading) inheritedMissing() metric.Reason { return r.k.inheritedWhy }
