package platform

// LooseTimers does nothing: macOS coalesces timers by itself.
func LooseTimers() {}

// Processors is how many processors the program uses at a time: sampling takes one, encoding and
// syncing now and then another, and so does what lets suspended processes go on. More would only
// mean threads that look for work, and collect garbage side by side.
const Processors = 2
