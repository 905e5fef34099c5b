package live

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/follow"
)

// A marker writes the positions of a stream. Mostly only the clock of one class has moved since
// the last one. Then its advance is enough: how far it is ahead of the last position that was
// written in full.
type marker struct {
	full, last follow.Position
}

// mark returns p for a frame: a token, or an advance, or neither if it is the same as the last.
func (k *marker) mark(p follow.Position) (token string, advance uint64) {
	one, n := 0, 0
	for c := range p.Ticks {
		if p.Ticks[c] != k.last.Ticks[c] {
			one, n = c, n+1
		}
	}
	same := k.last
	same.Ticks = p.Ticks
	k.last = p
	by := p.Ticks[one] - k.full.Ticks[one]
	switch {
	case same == p && n == 0 && p.Archive != "":
		return "", 0
	case same == p && n == 1 && by > 0 && by < 1<<60 && k.full.Ticks[one] != 0:
		return "", uint64(by)<<3 | uint64(one)
	}
	k.full = p
	return p.String(), 0
}

// parseMark parses a position that a client put together: a token, then, each after a full stop,
// the last advance of each class.
func parseMark(text string) (follow.Position, error) {
	token, rest, more := strings.Cut(text, ".")
	p, err := follow.ParsePosition(token)
	for before := -1; err == nil && more; {
		var advance string
		advance, rest, more = strings.Cut(rest, ".")
		n, bad := strconv.ParseUint(advance, 10, 63)
		c := int(n & 7)
		if bad != nil || p.Ticks[c] == 0 || n>>3 == 0 || c <= before || strconv.FormatUint(n, 10) != advance {
			_, err = follow.ParsePosition("." + advance) // for its error, that it is not a position
			return follow.Position{}, err
		}
		p.Ticks[c] += int64(n >> 3)
		before = c
	}
	return p, err
}

// only returns p without the classes that are not used.
func only(p follow.Position, used [metric.NumClasses]bool) follow.Position {
	for c := range p.Ticks {
		if !used[c] {
			p.Ticks[c] = 0
		}
	}
	return p
}
