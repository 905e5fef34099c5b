package platform

import "golang.org/x/sys/unix"

// SetNice sets the niceness of this program, as nice(1) does: the kernel runs programs with
// a lower number first. A thread whose number is not 0 keeps it. If the kernel does not
// permit n, nothing changes.
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
