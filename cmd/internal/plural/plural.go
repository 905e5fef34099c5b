// Package plural writes numbers with the thing that they count.
package plural

import (
	"strconv"
	"strings"
)

// Of is "1 process", "2 processes": how many of what.
func Of[T int | int64 | uint64](n T, one string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Word(n, one)
}

// Word is one, or its plural where there are not one.
func Word[T int | int64 | uint64](n T, one string) string {
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
