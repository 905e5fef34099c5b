package platform

import "golang.org/x/sys/unix"

// SetNice puts this program before others (n below 0) or behind them where they want
// the processors, as nice(1) counts. It does nothing where the program was started with
// another niceness than 0, or has no right to be in front.
func SetNice(n int) {
	// A thread that one of the others starts meanwhile may have been missed.
	for changed := n != 0; changed; {
		changed = false
		for _, id := range schedulable() {
			if now, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil && now == standing {
				changed = unix.Setpriority(unix.PRIO_PROCESS, id, n) == nil || changed
			}
		}
	}
}
