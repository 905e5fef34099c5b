package platform

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A process that already has a niceness keeps it. Any process may lower its own priority.
func TestSetNice(t *testing.T) {
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	SetNice(1)
	SetNice(2)
	for _, id := range schedulable() {
		now, err := unix.Getpriority(unix.PRIO_PROCESS, id)
		if moved := now - before; err == nil && (before == ordinary && moved != 1 && moved != -1 || before != ordinary && moved != 0) {
			t.Errorf("a thread went from %d to %d", before, now)
		}
	}
}
