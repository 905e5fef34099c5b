package proc

import "tachograph/sample/proc/libproc"

// macThreadInfo is a struct proc_threadinfo.
type macThreadInfo [libproc.ThreadSize]byte

type macThread = thread[macProcess, macThreadInfo]

func (m *macKernel) threadColumns() []column[macThread] {
	t, info := m.answers("thread", "proc_pidinfo PROC_PIDTHREADID64INFO ")
	return append([]column[macThread]{
		{name: "thread.pid", number: func(t *macThread) uint64 { return uint64(t.owner.pid) }},
		{name: "thread.tid", number: func(t *macThread) uint64 { return t.id }},
		{name: "thread.name", text: func(t *macThread) string { return t.name }},
		{name: "thread.sname", text: func(t *macThread) string {
			state, _ := libproc.ThreadState.Uint(t.platform[:])
			return stateNames[libproc.ThreadLetter(state)]
		}},
	}, columnsOf(t, info, func(t *macThread) []byte { return t.platform[:] })...)
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
