package proof

import "runtime/debug"

// A proof makes much that it soon drops, and keeps little: collected when there is five
// times what it keeps, and not twice as Go does unasked, it takes a quarter less time.
func init() { debug.SetGCPercent(400) }
