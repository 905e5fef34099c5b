package query

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Spent is what one process used over a window, as Top computes it.
type Spent struct {
	*Consumer
	PID, PPID int // 0 when unknown
	// Exit is the event of its end, if that was recorded.
	Exit *store.Event
	// Ended says that recording went on after it was last seen.
	Ended bool
}

// spentAtOnce is how many processes are completed together.
const spentAtOnce = 4096

// EachProcess calls fn with what each process of a window used, host by host and about in the
// order of their ends: all of them, and never many at once.
func EachProcess(a Archive, w Window, fn func(*Spent) error) error {
	for _, h := range a.Hosts() {
		one := Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
		if _, _, list := Covered(a, one); !w.Wants(h.ID) || len(list) == 0 {
			continue
		}
		s := &spender{topper: topper{a: a, group: PerProcess}, fn: fn}
		if err := s.bounds(one); err != nil {
			return err
		}
		s.tick = lastProcessTick(a, Window{Hosts: one.Hosts}, s.w.To)
		s.each = s.take
		s.add(mapFields(a, allCounters(), []ProcessLevel{Footprint, Resident, Highest}), nil)
		s.hand()
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// A spender is a topper that keeps nothing of processes that have ended.
type spender struct {
	topper
	fn   func(*Spent) error
	tick int64 // the last reading of processes
	list []*Consumer
	err  error
}

func (s *spender) take(c *Consumer) {
	if s.list = append(s.list, c); len(s.list) >= spentAtOnce {
		s.hand()
	}
}

// hand completes the processes that have been taken and passes them to fn.
func (s *spender) hand() {
	if s.err != nil || len(s.list) == 0 {
		s.list = nil
		return
	}
	list := s.list
	s.list = nil
	slices.SortFunc(list, func(x, y *Consumer) int {
		return cmp.Or(cmp.Compare(x.From, y.From), strings.Compare(x.Instance.Key, y.Instance.Key))
	})
	s.identify(list)
	all := make(map[groupKey]*Spent)
	from, to := list[0].To, list[0].To
	for _, c := range list {
		all[s.keyOf(c.Archive, c.Instance)] = &Spent{Consumer: c, PID: ProcessID(c.Instance), Ended: s.tick > c.To}
		from, to = min(from, c.To), max(to, c.To)
	}
	s.atEnd(list, []string{ppidMetric}, func(run *store.Run) {
		i := len(run.Wall) - 1
		if p := all[s.keyOf(run.Archive, run.Instance)]; p != nil && (run.Miss == nil || run.Miss[i] == metric.Present) {
			p.PPID = int(metric.Number(run.Metric.Type, run.Bits[i]))
		}
	})
	for e := range s.a.Events(from-exitMargin, to+exitMargin, metric.EventProcessExit) {
		p := all[groupKey{e.Archive.Host.ID, e.Archive.BootID, e.Key}]
		if p != nil && e.At.Wall >= p.To-exitMargin && e.At.Wall <= p.To+exitMargin {
			c := *e
			p.Exit, p.Ended = &c, true
		}
	}
	for _, c := range list {
		if s.err = s.fn(all[s.keyOf(c.Archive, c.Instance)]); s.err != nil {
			return
		}
	}
}
