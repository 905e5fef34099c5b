package query_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// counted ends the test when it is asked too often.
type counted struct {
	query.Archive
	t    *testing.T
	left int
}

func (c *counted) Select(sel store.Selection) iter.Seq[*store.Run] {
	if c.left--; c.left < 0 {
		c.t.Fatal("too many questions for the archive")
	}
	return c.Archive.Select(sel)
}

// Time in which nothing was recorded costs next to nothing, however long it is
// and whatever comes after it.
func TestSlicesOfEmptyTime(t *testing.T) {
	const script = `
start 2026-11-20T03:00:00Z
host h
interval fast 1s
metric x f64 instant - fast
boot b1 -1h
every 1s 0s 1s fast
  x level=1
every 1s 2s %s fast
  x level=2
`
	for _, c := range []struct {
		name   string
		dense  time.Duration // at the end
		first  time.Time     // when what came first happened
		second time.Time     // and what came second
	}{
		{"ten years, then a day", 24 * time.Hour, date(2016), date(2016)},
		{"from 1682 to 2260", time.Hour, date(1682), date(2260)},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, err := querytest.Parse(strings.NewReader(fmt.Sprintf(script, c.dense)))
			if err != nil {
				t.Fatal(err)
			}
			ticks := parts[0].Ticks
			for i, at := range []time.Time{c.first, c.second} {
				ticks[i].At.Wall = at.UnixNano() + int64(i)
				ticks[i].Blocks[0].At.Wall = ticks[i].At.Wall
			}
			a := &counted{querytest.New(parts...), t, 100}
			e, err := query.Compile(a, nil, "x * 2")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for s, err := range query.Evaluate(a, e, query.Request{Mode: query.Shown}) {
				if err != nil {
					t.Fatal(err)
				}
				for i, wall := range s.Wall {
					if v := s.Value(i); v.Miss == metric.Present && v.Number() == 4 && wall >= ticks[2].At.Wall {
						n++
					}
				}
			}
			if want := len(ticks) - 2; n != want {
				t.Errorf("%d values, want %d", n, want)
			}
		})
	}
}

func date(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
