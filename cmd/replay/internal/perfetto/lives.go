package perfetto

import (
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// cpu and memory are what every process has counters of.
var processCounters = []struct{ label, expr string }{
	{"cpu", "proc.psinfo.utime + proc.psinfo.stime"},
	{"memory", "proc.memory.rss"},
}

func (t *trace) processID(h metric.Host, boot, key string) uint64 {
	return t.id(h.ID, "process", boot, key)
}

// exit is when a process ended, and how.
type exit struct {
	at  int64
	how string
}

// lives writes processes: a track for each, with a slice from its start to its end,
// and its counters. Where a pid comes again with another track, the viewer knows it
// for another process; its processes are of no host, so that where there are several
// the name says which. One that lived less than a step is an instant among others.
func (t *trace) lives(h metric.Host, w query.Window) error {
	if t.r.Archive.Lookup("proc.memory.rss") == nil && t.r.Archive.Lookup("proc.psinfo.utime") == nil {
		return nil
	}
	// Known by their keys, which begin anew with each boot.
	exits := make(map[[2]string]exit)
	for e := range t.r.Archive.Events(w.From, w.To, metric.EventProcessExit) {
		if e.Archive.Host.ID == h.ID && e.Key != "" {
			exits[[2]string{e.Archive.BootID, e.Key}] = exit{e.At.Wall, e.Label("how")}
		}
	}
	above := t.id(h.ID, "processes")
	short := t.id(h.ID, "short")
	described, brief := false, false
	for l := range t.r.Archive.Lives("process", w.From, w.To) {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if l.Archive.Host.ID != h.ID || t.r.Instance != nil && !t.r.Instance("process", l.Instance) {
			continue
		}
		from, to := t.from, l.To
		if b := l.Instance.Began(); b > 0 {
			from = max(from, b)
		} else if l.From > t.from {
			from = l.From
		}
		name := query.ProcessName(l.Instance)
		if x, ok := exits[[2]string{l.Archive.BootID, l.Instance.Key}]; ok {
			to = x.at
			if x.how != "" && x.how != "exit 0" {
				name += " (" + x.how + ")"
			}
		}
		to = min(max(to, from), t.to)
		t.report.Rows++
		if to-from < int64(t.step) {
			if !brief {
				brief = true
				t.describe(track{id: short, parent: t.id(h.ID), name: "short-lived processes", rank: 4})
			}
			t.event(typeInstant, short, from, name)
			continue
		}
		c := track{id: t.processID(h, l.Archive.BootID, l.Instance.Key), name: query.ProcessName(l.Instance)}
		if t.many {
			c.name += " on " + h.Name
		}
		if c.pid = query.ProcessID(l.Instance); c.pid <= 0 {
			// The kernel's own, which the viewer takes for idleness.
			if !described {
				described = true
				t.describe(track{id: above, parent: t.id(h.ID), name: "processes", rank: 3})
			}
			c.pid, c.parent = 0, above
		}
		t.describe(c)
		t.event(typeBegin, c.id, from, name)
		t.event(typeEnd, c.id, to, "")
		t.drawn[c.id], t.keys[l.Instance.Key] = true, true
	}
	if t.r.Metrics != nil {
		return t.err // it is said which
	}
	for _, c := range processCounters {
		targets, err := query.Targets(t.r.Archive, nil, []string{c.expr})
		if err != nil {
			continue // this recording has none
		}
		for _, of := range targets {
			if err := t.counters(h, w, of, c.label); err != nil {
				return err
			}
		}
	}
	return t.err
}
