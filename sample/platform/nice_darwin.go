package platform

// ordinary is what Getpriority returns for a niceness of 0.
const ordinary = 0

// schedulable returns 0, which means the calling process: on macOS all threads of a process have
// one niceness.
func schedulable() []int { return []int{0} }
