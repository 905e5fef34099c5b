package live

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/follow"
)

// A marker writes positions of a stream. Mostly no more than the clock of one
// class has moved since the last one: then its advance is enough, which says by
// how much it is ahead of the last one that was written in full.
type marker struct {
	full, last follow.Position
}

// mark is p as a frame has it: a token, or an advance, or nothing if it is the
// last one.
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

// parseMark reads a position as a client puts it together: a token, and the last
// advance of each class after a full stop.
func parseMark(text string) (follow.Position, error) {
	token, rest, more := strings.Cut(text, ".")
	p, err := follow.ParsePosition(token)
	for before := -1; err == nil && more; {
		var advance string
		advance, rest, more = strings.Cut(rest, ".")
		n, bad := strconv.ParseUint(advance, 10, 63)
		c := int(n & 7)
		if bad != nil || p.Ticks[c] == 0 || n>>3 == 0 || c <= before || strconv.FormatUint(n, 10) != advance {
			_, err = follow.ParsePosition("." + advance) // says that it is none
			return follow.Position{}, err
		}
		p.Ticks[c] += int64(n >> 3)
		before = c
	}
	return p, err
}

// only is p with nothing of the classes that are not used.
func only(p follow.Position, used [metric.NumClasses]bool) follow.Position {
	for c := range p.Ticks {
		if !used[c] {
			p.Ticks[c] = 0
		}
	}
	return p
}
