package proc

import (
	"time"

	"tachograph/sample/metric"
)

// lately are the processes that ended last, for those who hear about them later: a report of a
// crash is written seconds after the process is gone.
type lately struct {
	instances []*metric.Instance
	pids      []int32
	next      int
}

const mostLately = 2048

func (l *lately) add(pid int32, in *metric.Instance) {
	if len(l.pids) < mostLately {
		l.pids, l.instances = append(l.pids, pid), append(l.instances, in)
		return
	}
	l.pids[l.next], l.instances[l.next] = pid, in
	l.next = (l.next + 1) % mostLately
}

// find returns the one that had the pid at an instant: of several, the one that began last before it.
func (l *lately) find(pid int32, at time.Time) (found *metric.Instance) {
	var began time.Time
	for i, p := range l.pids {
		if p != pid {
			continue
		}
		if t := startOf(l.instances[i]); !t.After(at.Add(clockSlack)) && (found == nil || t.After(began)) {
			found, began = l.instances[i], t
		}
	}
	return found
}

// clockSlack is how much earlier than its beginning something may seem to have happened to a
// process: two clocks tell the times.
const clockSlack = time.Second

func startOf(in *metric.Instance) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, in.Label("start"))
	return t
}

// Whose returns the key and the owners of the process that had a pid at an instant, if a sweep has
// met it and it has not ended long ago.
func (s *processes[P, R]) Whose(pid int32, at time.Time) (key string, owners []metric.Label, ok bool) {
	s.Lock()
	defer s.Unlock()
	in := (*metric.Instance)(nil)
	if p := s.table.lookup(pid); p != nil && !startOf(p.instance).After(at.Add(clockSlack)) {
		in = p.instance
	}
	if in == nil {
		in = s.late.find(pid, at)
	}
	if in == nil || in.Key == "" {
		return "", nil, false
	}
	return in.Key, in.Owners(), true
}
