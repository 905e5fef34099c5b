package mach

import (
	"slices"
	"sync/atomic"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// Some calls may never return: macOS 15 and later ask a daemon about tasks, which may wait for
// a process that is not there, a suspension and a look at registers may wait for a thread that
// does not stop, and memory and paths may be on a disk that does not answer. Resume and Close are
// not watched: the kernel waits for nothing in them, and the guard calls them, too.

// callNames are the names of the watched calls.
var callNames = [...]string{callOpen: "task_for_pid", callThreads: "task_threads", callSuspend: "task_suspend2", callRead: "mach_vm_read", callShot: "stack_snapshot_with_config",
	callRegisters: "thread_get_state", callThread: "thread_info", callTask: "task_info", callProcess: "proc_pidinfo"}

const (
	callOpen = iota + 1
	callThreads
	callSuspend
	callRead
	callShot
	callRegisters
	callThread
	callTask
	callProcess
)

// watched is a kernel that records which call is under way.
type watched struct {
	kernel
	calls stack.Calls
	over  atomic.Bool  // the session was given up
	asked atomic.Int64 // how many tasks the calls that returned have asked for
}

func (w *watched) begin(call int) { w.calls.Begin(call) }

func (w *watched) end() { w.calls.End() }

func (w *watched) Open(pid int32) (port, int, error) {
	w.begin(callOpen)
	defer w.end()
	right, asked, err := w.kernel.Open(pid)
	w.asked.Add(int64(asked))
	return right, asked, err
}

func (w *watched) Threads(task port, to []port) ([]port, code) {
	w.begin(callThreads)
	defer w.end()
	return w.kernel.Threads(task, to)
}

// Suspend does nothing in a session that was given up.
func (w *watched) Suspend(task port) (port, code) {
	if w.over.Load() {
		return 0, timedOut
	}
	w.begin(callSuspend)
	defer w.end()
	return w.kernel.Suspend(task)
}

func (w *watched) Read(task port, addr uint64, b []byte) bool {
	w.begin(callRead)
	defer w.end()
	return w.kernel.Read(task, addr, b)
}

func (w *watched) Process(pid int32) (process, bool) {
	w.begin(callProcess)
	defer w.end()
	return w.kernel.Process(pid)
}

func (w *watched) Mapped(pid int32, addr uint64) string {
	w.begin(callProcess)
	defer w.end()
	return w.kernel.Mapped(pid, addr)
}

func (w *watched) Identify(thread port, id *identity) code {
	w.begin(callThread)
	defer w.end()
	return w.kernel.Identify(thread, id)
}

func (w *watched) Describe(thread port, d *description) code {
	w.begin(callThread)
	defer w.end()
	return w.kernel.Describe(thread, d)
}

func (w *watched) Registers(thread port, translated bool, r *chain.Registers) code {
	w.begin(callRegisters)
	defer w.end()
	return w.kernel.Registers(thread, translated, r)
}

func (w *watched) Dyld(task port) (at, size uint64) {
	w.begin(callTask)
	defer w.end()
	return w.kernel.Dyld(task)
}

func (w *watched) Shot(pid int32, flags uint64, read func([]byte)) error {
	w.begin(callShot)
	defer w.end()
	return w.kernel.Shot(pid, flags, read)
}

// watch waits until a session is done, or one of its calls hangs; it returns that call.
func (w *watched) watch(done <-chan struct{}) (hangs int) {
	hangs = w.calls.Watch(done, stack.HangLook)
	w.over.Store(hangs != 0)
	return hangs
}

// callOf returns the call with a name; 0 if there is none.
func callOf(name string) int { return max(0, slices.Index(callNames[:], name)) }

// hung is the error of a call that is not made again.
func hung(call int) error { return stack.Hung(callNames[call], stack.HangLook) }
