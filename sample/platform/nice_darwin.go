package platform

// standing is what Getpriority returns for a niceness of 0.
const standing = 0

// schedulable is this program, by the number that means whoever asks: macOS has one
// niceness for all its threads.
func schedulable() []int { return []int{0} }
