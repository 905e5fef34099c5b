package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// instance returns the instance that takes the place of n in this round.
func (m *Machine) instance(n *name) *metric.Instance {
	if m.round == 0 {
		return &n.inst
	}
	if n.life.stays {
		return &n.life.current.inst
	}
	now := m.names[n]
	if now == nil {
		now = m.reborn(&n.inst)
		m.names[n] = now
	}
	return now
}

// reborn returns a new process with the name of one in the recording. PIDs begin again with each
// boot.
func (m *Machine) reborn(in *metric.Instance) *metric.Instance {
	since := m.began
	if m.calendar != nil {
		since -= m.calendar.begins(m.boot)
	}
	number, command, _ := strings.Cut(strings.TrimSpace(in.Name), " ")
	pid, _ := strconv.Atoi(number)
	pid = 300 + (pid+(m.round-m.fresh)*40000)%4000000
	now := &metric.Instance{ID: uint64(m.round)<<32 + in.ID, Rev: in.Rev, Name: fmt.Sprintf("%06d %s", pid, command)}
	if _, start, ok := strings.Cut(in.Key, "/"); ok {
		s, _ := strconv.ParseInt(start, 10, 64)
		now.Key = fmt.Sprintf("%d/%d", pid, s+since/1e7)
	} else { // a Mac numbers its processes
		unique, _ := strconv.Atoi(in.Key)
		now.Key = strconv.Itoa((m.round-m.fresh)*1000000 + unique)
	}
	now.Labels = slices.Clone(in.Labels)
	for i, l := range now.Labels {
		switch l.Name {
		case "pid":
			now.Labels[i].Value = strconv.Itoa(pid)
		case "start":
			if t, err := time.Parse(time.RFC3339Nano, l.Value); err == nil {
				now.Labels[i].Value = t.Add(time.Duration(since)).Format(time.RFC3339Nano)
			}
		}
	}
	return now
}
