package proof

import (
	"os"
	"runtime/debug"
)

// A proof makes much that it soon drops, and keeps little: collected when there is five
// times what it keeps, and not twice as Go does unasked, it takes a quarter less time.
// GOGC=100 has them, and benchmarks beside them, run as programs do.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
