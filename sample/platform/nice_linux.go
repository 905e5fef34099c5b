package platform

import (
	"os"
	"strconv"
)

// ordinary is what Getpriority returns for a niceness of 0: the kernel's call returns 20 minus
// the niceness.
const ordinary = 20

// schedulable returns the numbers of this program's threads: on Linux each has a
// niceness of its own. A new thread gets that of the thread that starts it.
func schedulable() []int {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var ids []int
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
