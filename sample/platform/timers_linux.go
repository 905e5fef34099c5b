package platform

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

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
