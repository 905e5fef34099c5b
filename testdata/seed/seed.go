// Package seed gives tests the seed of what they draw by lot: always the same one,
// unless TACHO_SEED names another.
package seed

import (
	"os"
	"strconv"
	"testing"
)

// variable names a seed, a decimal number.
const variable = "TACHO_SEED"

// Of is the seed of a test, which it prints: usual, unless the environment names one.
func Of(t testing.TB, usual uint64) uint64 {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q is no decimal number", variable, text)
		}
		usual = n
	}
	t.Logf("%s=%d", variable, usual)
	return usual
}
