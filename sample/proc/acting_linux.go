package proc

import (
	"strconv"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// acting is the thread that stands for a process whose first one has ended: the first of
// those that live, for as long as it does.
type acting struct {
	tid  uint64
	stat procfs.Stat
}

// standIn finds who stands for a process whose first thread has ended.
func (k *linuxKernel) standIn(p *process[linuxProcess]) {
	q := &p.platform
	was := q.acting
	if q.acting = nil; !q.headless() {
		return
	}
	if was != nil && k.alive(p, was) {
		q.acting = was
		return
	}
	for _, id := range k.threadIDs(p, nil) {
		if next := (&acting{tid: id}); k.alive(p, next) {
			q.acting = next
			return
		}
	}
}

// alive reads what the kernel says of a thread, and reports whether it has not ended.
func (k *linuxKernel) alive(p *process[linuxProcess], a *acting) bool {
	_, _, ok := k.readThread(p, a.tid, &a.stat)
	return ok && a.stat.State != 'Z' && a.stat.State != 'X'
}

// state is the letter of what a process does, 0 if none of its threads could be asked.
func (q *linuxProcess) state() byte {
	switch {
	case q.acting != nil:
		return q.acting.stat.State
	case q.headless():
		return 0
	}
	return q.stat.State
}

// thread is what the kernel shows of one thread of the process only.
func (r *reading) thread() *procfs.Stat {
	if a := r.p.platform.acting; a != nil {
		return &a.stat
	}
	return r.stat()
}

// nobody is why what is of one thread is absent.
func (r *reading) nobody() metric.Reason {
	if r.p.platform.acting == nil {
		return r.headless()
	}
	return metric.Present
}

// threadPath is a file of the thread that stands for the process.
func (r *reading) threadPath(name string) string {
	if a := r.p.platform.acting; a != nil {
		name = "task/" + strconv.FormatUint(a.tid, 10) + "/" + name
	}
	return pidPath(r.p.pid, name)
}
