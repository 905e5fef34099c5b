package platform

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNow compares the clocks with the kernel's, read before and after.
func TestNow(t *testing.T) {
	read := func(id int32) int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(id, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	const slack = 20_000
	for range 100 {
		wall, awake, cont := read(unix.CLOCK_REALTIME), read(unix.CLOCK_MONOTONIC), read(unix.CLOCK_BOOTTIME)
		now := Now()
		for _, c := range []struct {
			name               string
			before, got, after int64
		}{
			{"wall", wall, now.Wall, read(unix.CLOCK_REALTIME)},
			{"awake", awake, now.Awake, read(unix.CLOCK_MONOTONIC)},
			{"continuous", cont, now.Cont, read(unix.CLOCK_BOOTTIME)},
		} {
			if c.got < c.before-slack || c.got > c.after+slack {
				t.Errorf("the %s clock says %d, the kernel between %d and %d", c.name, c.got, c.before, c.after)
			}
		}
	}
}

// Processors counts the machine's processors, not those that this process may use.
func TestProcessors(t *testing.T) {
	for stat, want := range map[string]int{
		"cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\ncpu7 1 2 3\nintr 5\n": 3,
		"cpu0": 1,
		"":     runtime.NumCPU(),
		"cpu":  runtime.NumCPU(),
	} {
		if got := processors(stat); got != want {
			t.Errorf("processors(%q) = %d, want %d", stat, got, want)
		}
	}
}
