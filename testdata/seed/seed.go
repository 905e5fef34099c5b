// Package seed gives tests the seed for their random choices: always the same one, unless
// TACHO_SEED sets another.
package seed

import (
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable with a seed, a decimal number.
const variable = "TACHO_SEED"

// Of returns the seed of a test, and prints it: usual, unless the environment sets another.
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
