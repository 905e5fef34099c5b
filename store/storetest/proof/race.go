package proof

import (
	"os"
	"testing"
)

// Unraced skips a test under the race detector, which would take it half a minute or more:
// what it has run side by side other tests have as well. TACHO_RACE=1 has it run there,
// too.
func Unraced(t testing.TB) {
	t.Helper()
	if raced && os.Getenv("TACHO_RACE") == "" {
		t.Skip("takes long under the race detector: TACHO_RACE=1")
	}
}
