package openmetrics

import (
	"iter"
	"math"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// again is how often a value is repeated that is read once per archive. Prometheus takes a
// series for gone five minutes after its last sample; a query that divides by the number of
// processors needs that value at every instant, and gets it from /metrics at every scrape.
const again = int64(4 * time.Minute)

// mostAgain is how often a value is repeated at most, which is enough for a year: archives of
// unknown origin may claim a longer time.
const mostAgain = 1 << 17

// values yields the values of a metric in the window. A value that is read once per archive is
// written where the window begins, and repeated as long as the archive was recorded.
func (h *host) values(d *metric.Desc, keys ...string) iter.Seq2[*query.Series, error] {
	all := h.r.Values(h.ctx, h.window, d, keys...)
	if d.Class != metric.Static {
		return all
	}
	return func(yield func(*query.Series, error) bool) {
		begin, end, _ := query.Covered(h.r.Archive, h.window)
		begin = max(begin, h.window.From)
		if h.window.To != 0 {
			end = min(end, h.window.To)
		}
		breaks := query.Breaks(h.r.Archive, query.Window{Hosts: h.window.Hosts, From: begin, To: end})
		var order []string
		last := make(map[string]*query.Series) // of an instance: its standing value
		stand := func(s *query.Series, until int64) bool {
			at := s.Wall[0]
			s.Wall = s.Wall[:0]
			for from := at; len(s.Wall) < mostAgain && (at < until || at == from); at += again {
				if at == from || recorded(breaks, at) {
					s.Wall = append(s.Wall, at)
				}
				if at > math.MaxInt64-again {
					break
				}
			}
			repeat(s)
			return yield(s, nil)
		}
		for s, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			key := ""
			if s.Instance != nil {
				key = s.Instance.Key
			}
			for i, wall := range s.Wall {
				wall = max(wall, begin)
				switch before := last[key]; {
				case before == nil:
					order = append(order, key)
				case !stand(before, wall):
					return
				}
				last[key] = single(s, i, wall)
			}
		}
		for _, key := range order {
			if !stand(last[key], end) {
				return
			}
		}
	}
}

// recorded reports whether the recorder ran at an instant.
func recorded(breaks []query.Break, at int64) bool {
	for i := range breaks {
		if breaks[i].From < at && at < breaks[i].To {
			return false
		}
	}
	return true
}

// single returns value number i of a series, with a time.
func single(s *query.Series, i int, wall int64) *query.Series {
	one := *s
	one.Wall, one.Bits, one.Miss = []int64{wall}, []uint64{s.Bits[i]}, nil
	if s.Miss != nil {
		one.Miss = []metric.Reason{s.Miss[i]}
	}
	if s.Type == metric.String {
		one.Bits[0], one.Words = 0, []string{s.Word(i)}
	}
	return &one
}

// repeat gives a series with one value that value at all its times.
func repeat(s *query.Series) {
	for len(s.Bits) < len(s.Wall) {
		s.Bits = append(s.Bits, s.Bits[0])
		if s.Miss != nil {
			s.Miss = append(s.Miss, s.Miss[0])
		}
	}
}
