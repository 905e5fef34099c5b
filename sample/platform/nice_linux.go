package platform

import (
	"os"
	"strconv"
)

// standing is what Getpriority returns for a niceness of 0: the kernel's call gives
// 20 less the niceness.
const standing = 20

// schedulable is whom a niceness is set for: each thread of this program. Threads to
// come have that of the thread that starts them.
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
