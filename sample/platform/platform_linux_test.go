package platform

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestNow holds the clocks against what the kernel says of them before and
// after.
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
