package platform

// standing is what Getpriority returns for a niceness of 0.
const standing = 0

// schedulable is whom a niceness is set for: this program, with all its threads.
func schedulable() []int { return []int{0} }
