package platform

// LooseTimers does nothing: macOS coalesces timers by itself.
func LooseTimers() {}
