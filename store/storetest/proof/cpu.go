package proof

import (
	"syscall"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

// CPUTime returns the processor time that this process has used. It does not grow when other
// processes are busy.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// much is more processor time than any of these tests needs: they take moments.
const much = 20 * time.Second

// Brief fails the test if fn takes so much processor time that it must do something again and
// again. No other test may run beside it.
func Brief(t testing.TB, what string, fn func()) {
	t.Helper()
	before := CPUTime(t)
	fn()
	if took := CPUTime(t) - before; took > time.Duration(patience.Late()*float64(much)) {
		t.Errorf("%s: it took %v of processor time", what, took)
	}
}
