package stack

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SpreadLimits are the limits by which a Spread counts.
var SpreadLimits = [...]time.Duration{
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
}

// Spread counts durations: how many were at most as long as each limit, and longer than the
// limit before. The last count is of those that were longer than all limits.
type Spread [len(SpreadLimits) + 1]uint64

// Add counts a duration.
func (s *Spread) Add(d time.Duration) {
	for i, limit := range SpreadLimits {
		if d <= limit {
			s[i]++
			return
		}
	}
	s[len(SpreadLimits)]++
}

// longer is the limit of what exceeds all limits.
const longer = "longer"

func limitText(i int) string {
	if i < len(SpreadLimits) {
		return strconv.FormatInt(int64(SpreadLimits[i]), 10)
	}
	return longer
}

// String returns the counts that are not 0, with their limits in nanoseconds: "10000:312 20000:5
// longer:1".
func (s *Spread) String() string {
	var list []string
	for i, n := range s {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s:%d", limitText(i), n))
		}
	}
	return strings.Join(list, " ")
}

// ReadSpread reads what String returns; ok is false for any other text, also for one with no
// counts.
func ReadSpread(text string) (s Spread, ok bool) {
	for _, part := range strings.Fields(text) {
		limit, count, _ := strings.Cut(part, ":")
		n, err := strconv.ParseUint(count, 10, 63)
		at := -1
		for i := range s {
			if limitText(i) == limit && s[i] == 0 {
				at = i
			}
		}
		if err != nil || n == 0 || at < 0 {
			return Spread{}, false
		}
		s[at] = n
	}
	return s, s != Spread{}
}
