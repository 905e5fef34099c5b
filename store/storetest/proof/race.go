package proof

import (
	"os"
	"testing"
)

// Unraced skips a test that would take half a minute or more under the race detector, because
// other tests run the same code concurrently. With TACHO_RACE=1 the test runs there, too.
func Unraced(t testing.TB) {
	t.Helper()
	if raced && os.Getenv("TACHO_RACE") == "" {
		t.Skip("takes long under the race detector: TACHO_RACE=1")
	}
}
