package cli

import (
	"strconv"
	"strings"
)

// Count writes a number with the thing that it counts: "1 process", "2 processes".
func Count[T int | int64 | uint64](n T, one string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Plural(n, one)
}

// Plural returns the word one, in the plural unless n is 1.
func Plural[T int | int64 | uint64](n T, one string) string {
	if n == 1 {
		return one
	}
	for _, ending := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(one, ending) && !strings.HasSuffix(one, "series") {
			return one + "es"
		}
	}
	switch {
	case strings.HasSuffix(one, "series"):
		return one
	case strings.HasSuffix(one, "y") && !strings.HasSuffix(one, "ay") && !strings.HasSuffix(one, "ey"):
		return strings.TrimSuffix(one, "y") + "ies"
	}
	return one + "s"
}
