package proof

import (
	"syscall"
	"testing"
	"time"
)

// CPUTime is what this process has used of its processors: of what is only slow because
// others are busy it says nothing.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
