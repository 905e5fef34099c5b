package mach

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// Some calls may never return: macOS 15 and later ask a daemon about tasks, which may wait for
// a process that is not there, a suspension and a look at registers may wait for a thread that
// does not stop, and memory and paths may be on a disk that does not answer. A call is given up if
// it was under way at hangLooks looks in a row, hangLook apart, so that this program certainly
// got to run. Resume and Close are not watched: the kernel waits for nothing in them, and the guard
// calls them, too.
const (
	hangLook  = 500 * time.Millisecond
	hangLooks = 10
)

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
	under atomic.Uint64 // a number, and the call in the lowest byte; 0 if none
	count uint64
	over  atomic.Bool  // the session was given up
	asked atomic.Int64 // how many tasks the calls that returned have asked for
}

func (w *watched) begin(call uint64) {
	w.count++
	w.under.Store(w.count<<8 | call)
}

func (w *watched) end() { w.under.Store(0) }

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
	ticker := time.NewTicker(hangLook)
	defer ticker.Stop()
	var before uint64
	for looks := 0; looks < hangLooks; {
		select {
		case <-done:
			return 0
		case <-ticker.C:
		}
		if now := w.under.Load(); now == 0 || now != before {
			before, looks = now, 0
		} else {
			looks++
		}
	}
	w.over.Store(true)
	return int(before & 0xff)
}

// gate lets samples through until it is shut: samples of a session that was given up must not
// reach the caller.
type gate struct {
	mu   sync.Mutex
	to   func(*stack.Sample)
	shut bool
	n    int
}

func (g *gate) give(s *stack.Sample) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.n++
		g.to(s)
	}
}

// close shuts the gate, and returns how many samples went through.
func (g *gate) close() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	return g.n
}

// callOf returns the call with a name; 0 if there is none.
func callOf(name string) int { return max(0, slices.Index(callNames[:], name)) }

// hung is the error of a call that is not made again.
func hung(call int) error {
	return fmt.Errorf("%s did not return within %v, and is not called again until the machine is restarted", callNames[call], hangLook*hangLooks)
}
