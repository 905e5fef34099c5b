package report

import (
	"maps"
	"math"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

const (
	// longWindow is the length of a window that is long enough for spans of processes: that of 100 digests. Spans of
	// single chunks take more memory than single readings.
	longWindow = int64(20 * 24 * time.Hour)
	// leastSpans is how many spans a window must at least have, if it has any.
	leastSpans = 100
)

// readSpans fills the stacks and tables with what processes used over whole chunks: of a long window the single
// readings do not reach the page, and reading them takes most of the time. It returns false if there is no such
// thing; what the sweeper then has is of no use.
func (s *sweeper) readSpans(counters []query.ProcessCounter, levels []query.ProcessLevel) (bool, error) {
	w := s.c.w
	s.step = 0
	return query.ProcessSpans(s.c.a, w, (w.To-w.From)/leastSpans, counters, levels, s.takeSpan, func(from, to int64) error {
		s.used.note(len(s.used.wall), to, to-from)
		s.held.note(len(s.held.wall), to, to-from)
		s.step = max(s.step, to-from)
		maps.DeleteFunc(s.entries, func(_ *instance, l *life) bool {
			l.rows[0].cell = s.cells.column(to)
			return l.rows[0].wall != to
		})
		s.settle()
		return s.progress(to)
	})
}

// takeSpan adds one field of one process, or of several.
func (s *sweeper) takeSpan(p *query.ProcessSpan) {
	used := max(0, p.Amount)
	if of := s.stackOf(p.Counter, p.Level); of != nil && used == used {
		for _, by := range s.piles {
			to := of(by)
			s.c.grid.spread(p.From, p.To, used, to.sums[to.index(by.of(p.Instance))])
		}
	}
	if p.Several {
		return // They had ended before the last reading.
	}
	l := s.entries[p.Instance]
	if l == nil {
		unknown := math.NaN()
		l = &life{boot: p.Archive.BootID, rows: []entry{{cpu: unknown, memory: unknown, read: unknown, written: unknown, thread: unknown}}}
		s.entries[p.Instance] = l
	}
	e := &l.rows[0]
	e.wall = max(e.wall, p.To)
	x := p.Last
	if p.Counter != query.NumProcessCounters {
		if p.To <= p.From {
			return // One reading tells of no time.
		}
		x = used / (float64(p.To-p.From) / 1e9)
	}
	e.put(p.Counter, p.Level, x, x)
}

// spansText says what plots and tables show that were made of spans.
func (s *sweeper) spansText() string {
	return " Over so long a time each point is the mean of up to " + human.Duration(time.Duration(s.step)) + ", and so is each row of the tables of processes, which have no threads then."
}
