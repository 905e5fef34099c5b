package proc

import (
	"strconv"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// acting is the thread from which the state of a process is read after its first thread has
// ended: the first thread that still runs. The process keeps it until that thread ends too.
type acting struct {
	tid  uint64
	stat procfs.Stat
}

// standIn chooses the acting thread of a process, if its first thread has ended.
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

// alive reads the stat file of a thread, and reports whether the thread still runs.
func (k *linuxKernel) alive(p *process[linuxProcess], a *acting) bool {
	_, _, ok := k.readThread(p, a.tid, &a.stat)
	return ok && a.stat.State != 'Z' && a.stat.State != 'X'
}

// state returns the letter of a process's state, 0 if none of its threads could be read.
func (q *linuxProcess) state() byte {
	switch {
	case q.acting != nil:
		return q.acting.stat.State
	case q.headless():
		return 0
	}
	return q.stat.State
}

// thread returns what the kernel shows only for single threads: that of the acting thread, if
// there is one, else that of the process.
func (r *reading) thread() *procfs.StatNumbers {
	if a := r.p.platform.acting; a != nil {
		return &a.stat.StatNumbers
	}
	return r.stat()
}

// nobody returns why values of a single thread are absent.
func (r *reading) nobody() metric.Reason {
	if r.p.platform.acting == nil {
		return r.headless()
	}
	return metric.Present
}

// threadPath returns the path of a file in /proc: that of the acting thread if there is one,
// else that of the process.
func (r *reading) threadPath(name string) string {
	if a := r.p.platform.acting; a != nil {
		name = "task/" + strconv.FormatUint(a.tid, 10) + "/" + name
	}
	return pidPath(r.p.pid, name)
}
