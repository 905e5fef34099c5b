package proc

import (
	"strconv"

	"tachograph/sample/proc/procfs"
)

type linuxThread = thread[linuxProcess, procfs.Stat]

var threadColumns = []column[linuxThread]{
	{name: "thread.pid", number: func(t *linuxThread) uint64 { return uint64(t.owner.pid) }},
	{name: "thread.tid", number: func(t *linuxThread) uint64 { return t.id }},
	{name: "thread.name", text: func(t *linuxThread) string { return t.name }},
	{name: "thread.sname", text: func(t *linuxThread) string { return stateNames[t.platform.State] }},
	{name: "thread.utime", number: func(t *linuxThread) uint64 { return t.platform.UTime * tickMillis }},
	{name: "thread.stime", number: func(t *linuxThread) uint64 { return t.platform.STime * tickMillis }},
	{name: "thread.priority", number: func(t *linuxThread) uint64 { return uint64(t.platform.Priority) }},
	{name: "thread.base_priority", number: func(t *linuxThread) uint64 { return uint64(t.platform.Nice) }},
	{name: "thread.policy", number: func(t *linuxThread) uint64 { return t.platform.Policy }},
	{name: "thread.processor", number: func(t *linuxThread) uint64 { return uint64(t.platform.Processor) }},
	{name: "thread.minflt", number: func(t *linuxThread) uint64 { return t.platform.MinFlt }},
	{name: "thread.majflt", number: func(t *linuxThread) uint64 { return t.platform.MajFlt }},
}

func (k *linuxKernel) threadIDs(p *process[linuxProcess], ids []uint64) []uint64 {
	_ = k.dir.listAt(p.pid, "task", func(tid int32) { ids = append(ids, uint64(tid)) })
	return ids
}

func (k *linuxKernel) readThread(p *process[linuxProcess], id uint64, into *procfs.Stat) (start uint64, name []byte, ok bool) {
	text, err := k.dir.readAt(pidPath(p.pid, "task/"+strconv.FormatUint(id, 10)+"/stat"))
	if err != nil || into.Parse(text) != nil {
		return 0, nil, false
	}
	name, into.Comm = steady(into), nil // it points into a buffer
	return into.StartTime, name, true
}
