package proc

import (
	"tachograph/sample/darwin/decode"
	"tachograph/sample/proc/libproc"
)

// macThreadInfo is a struct proc_threadinfo.
type macThreadInfo [libproc.ThreadSize]byte

type macThread = thread[macProcess, macThreadInfo]

var macThreadColumns = []column[macThread]{
	{name: "thread.pid", number: func(t *macThread) uint64 { return uint64(t.owner.pid) }},
	{name: "thread.tid", number: func(t *macThread) uint64 { return t.id }},
	{name: "thread.name", text: func(t *macThread) string { return t.name }},
	{name: "thread.sname", text: func(t *macThread) string {
		state, _ := libproc.ThreadState.Uint(t.platform[:])
		return stateNames[libproc.ThreadLetter(state)]
	}},
	ofThread("thread.utime", libproc.ThreadUser),
	ofThread("thread.stime", libproc.ThreadSystem),
	ofThread("thread.priority", libproc.ThreadCurrent),
	ofThread("thread.base_priority", libproc.ThreadPriority),
	ofThread("thread.cpu_usage", libproc.ThreadUsage),
	ofThread("thread.policy", libproc.ThreadPolicy),
	ofThread("thread.sleep_time", libproc.ThreadSleep),
}

func ofThread(name string, f *decode.Field) column[macThread] {
	return column[macThread]{name: name, number: func(t *macThread) uint64 {
		v, _ := f.Uint(t.platform[:])
		return v
	}}
}

func (m *macKernel) threadIDs(p *process[macProcess], ids []uint64) []uint64 {
	list, errno := m.listOf(p.pid, libproc.PIDListThreadIDs)
	if errno == 0 {
		libproc.Threads(list, func(id uint64) { ids = append(ids, id) })
	}
	return ids
}

func (m *macKernel) readThread(p *process[macProcess], id uint64, into *macThreadInfo) (start uint64, name []byte, ok bool) {
	n, errno := m.calls.Info(p.pid, libproc.PIDThreadID64Info, id, into[:])
	if errno != 0 || n < libproc.ThreadSize {
		return 0, nil, false
	}
	name, _ = libproc.ThreadName.Text(into[:])
	return 0, name, true
}
