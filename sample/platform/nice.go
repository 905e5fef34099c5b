package platform

import "golang.org/x/sys/unix"

// SetNice sets the priority of this program as nice(1) counts it: the kernel runs
// programs with a lower number first. It does nothing if the program was started with
// another number than 0, or may not have this one.
func SetNice(n int) {
	// Repeat, because a thread started meanwhile by a thread not yet changed may have been
	// missed.
	for changed := n != 0; changed; {
		changed = false
		for _, id := range schedulable() {
			if now, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil && now == ordinary {
				changed = unix.Setpriority(unix.PRIO_PROCESS, id, n) == nil || changed
			}
		}
	}
}
