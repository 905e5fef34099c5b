package proc

import (
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/software"
)

// lately are the processes that ended last, for those who hear about them later: a report of a
// crash is written seconds after the process is gone.
type lately struct {
	list []late
	next int
}

type late struct {
	pid      int32
	begin    uint64
	instance *metric.Instance
}

const mostLately = 2048

func (l *lately) add(pid int32, begin uint64, in *metric.Instance) {
	one := late{pid, begin, in}
	if len(l.list) < mostLately {
		l.list = append(l.list, one)
		return
	}
	l.list[l.next] = one
	l.next = (l.next + 1) % mostLately
}

// find returns the one that is mentioned: of several, the one that began last.
func (l *lately) find(w *mentioned) (found *metric.Instance) {
	var began time.Time
	for _, p := range l.list {
		if p.pid != w.pid || !w.is(p.begin, p.instance) {
			continue
		}
		if t := startOf(p.instance); found == nil || t.After(began) {
			found, began = p.instance, t
		}
	}
	return found
}

// mentioned is a process that something was written down about: it had a pid at an instant. Where it
// is stated when it began, by the clock and in the kernel's ticks, that decides: pids are used again.
type mentioned struct {
	pid       int32
	at, began time.Time
	ticks     uint64
}

// is reports whether a process with this pid is the one.
func (w *mentioned) is(begin uint64, in *metric.Instance) bool {
	start := startOf(in)
	switch {
	case w.ticks != 0 && begin != 0:
		return w.ticks == begin
	case !w.began.IsZero() && !start.IsZero():
		return start.Sub(w.began).Abs() <= clockSlack
	}
	return !start.After(w.at.Add(clockSlack))
}

// clockSlack is how far apart two clocks may tell the time of the same thing.
const clockSlack = time.Second

func startOf(in *metric.Instance) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, in.Label("start"))
	return t
}

// Whose returns the key and the owners of the process that had a pid at an instant, if a sweep has
// met it and it has not ended long ago. Where began or ticks are not zero, it is the process that
// began then.
func (s *processes[P, R]) Whose(pid int32, at, began time.Time, ticks uint64) (key string, owners []metric.Label, ok bool) {
	s.Lock()
	defer s.Unlock()
	w := &mentioned{pid, at, began, ticks}
	in := (*metric.Instance)(nil)
	if p := s.table.lookup(pid); p != nil && w.is(p.begin, p.instance) {
		in = p.instance
	}
	if in == nil {
		in = s.late.find(w)
	}
	if in == nil || in.Key == "" {
		return "", nil, false
	}
	return in.Key, in.Owners(), true
}

// Updates returns the changes of apps to another version since it was last called: a process that
// began runs another one than those before.
func (s *processes[P, R]) Updates() []software.Change {
	s.Lock()
	defer s.Unlock()
	if k, ok := s.k.(interface{ takeUpdates() []software.Change }); ok {
		return k.takeUpdates()
	}
	return nil
}
