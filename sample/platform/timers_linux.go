package platform

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Processors is how many processors the program uses at a time. With a second one, the runtime
// wakes another thread for each tick, which looks for work and finds none. Long work, such as
// making chunks, is interrupted after ten milliseconds when a tick is due, and a system call
// that waits leaves the processor to others.
const Processors = 1

// timerSlack is how late the kernel may wake a thread of this program.
const timerSlack = time.Millisecond

// LooseTimers lets the kernel delay the timers of this program a little. Each time a Go program
// wakes up, a thread of its runtime sleeps for 20 µs some fifty times over to see what the
// others do. In a program that wakes up a few times a second to work for some milliseconds,
// those are most of its wakeups and a seventh of its CPU time. Setting the slack of threads
// other than the calling one takes a privilege; without it nothing changes.
func LooseTimers() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	slack := []byte(strconv.FormatInt(int64(timerSlack), 10))
	for _, t := range threads {
		// New threads inherit it.
		_ = os.WriteFile(filepath.Join("/proc", t.Name(), "timerslack_ns"), slack, 0)
	}
}
