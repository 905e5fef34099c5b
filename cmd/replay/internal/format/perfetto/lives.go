package perfetto

import (
	"hash/maphash"
	"iter"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// processCounters are the counters of every process.
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

// exits are the exits of a window's processes. There may be very many, so it keeps no more of
// each than it must.
type exits struct {
	seeds [2]maphash.Seed
	known map[[2]uint64]exit
	hows  map[string]string // each text once
}

func newExits() *exits {
	return &exits{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: make(map[[2]uint64]exit), hows: make(map[string]string)}
}

// of returns a hash that identifies a process: of its boot and its key, because keys are unique
// only within a boot.
func (x *exits) of(boot, key string) [2]uint64 {
	text := boot + "\x00" + key
	return [2]uint64{maphash.String(x.seeds[0], text), maphash.String(x.seeds[1], text)}
}

func (x *exits) note(boot, key string, e exit) {
	how, ok := x.hows[e.how]
	if !ok {
		how = strings.Clone(e.how)
		x.hows[how] = how
	}
	e.how = how
	x.known[x.of(boot, key)] = e
}

// lives writes processes: a track for each, with a slice from its start to its end, and its
// counters. If a PID is used again, with another track, the viewer takes it for another process.
// Its processes do not belong to hosts, so if there are several the name says which. A process
// that lived less than a step is an instant on a common track. Processes that came at the same
// time are written completely before later ones are read.
func (t *trace) lives(h metric.Host, w query.Window) error {
	if t.r.Archive.Lookup("proc.memory.rss") == nil && t.r.Archive.Lookup("proc.psinfo.utime") == nil {
		return nil
	}
	ended := newExits()
	for e := range t.r.Archive.Events(w.From, w.To, metric.EventProcessExit) {
		if e.Archive.Host.ID == h.ID && e.Key != "" {
			ended.note(e.Archive.BootID, e.Key, exit{e.At.Wall, e.Label("how")})
		}
	}
	for cohort := range t.r.Cohorts(w, "process") {
		if err := t.cohort(h, w, cohort, ended); err != nil {
			return err
		}
	}
	return t.err
}

// cohort writes some processes.
func (t *trace) cohort(h metric.Host, w query.Window, cohort iter.Seq[*store.Life], ended *exits) error {
	above := t.id(h.ID, "processes")
	short := t.id(h.ID, "short")
	clear(t.drawn)
	t.keys = t.keys[:0]
	for l := range cohort {
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
		if x, ok := ended.known[ended.of(l.Archive.BootID, l.Instance.Key)]; ok {
			to = x.at
			if x.how != "" && x.how != "exit 0" {
				name += " (" + x.how + ")"
			}
		}
		to = min(max(to, from), t.to)
		t.report.Rows++
		if to-from < int64(t.step) {
			t.once(track{id: short, parent: t.id(h.ID), name: "short-lived processes", rank: 4})
			t.event(typeInstant, short, from, name)
			continue
		}
		c := track{id: t.processID(h, l.Archive.BootID, l.Instance.Key), name: query.ProcessName(l.Instance)}
		if t.many {
			c.name += " on " + h.Name
		}
		if c.pid = query.ProcessID(l.Instance); c.pid <= 0 {
			// The kernel's own process, which the viewer takes for idleness.
			t.once(track{id: above, parent: t.id(h.ID), name: "processes", rank: 3})
			c.pid, c.parent = 0, above
		}
		t.describe(c)
		t.event(typeBegin, c.id, from, name)
		t.event(typeEnd, c.id, to, "")
		t.drawn[c.id] = true
		t.keys = append(t.keys, l.Instance.Key)
	}
	if t.r.Metrics != nil {
		return t.processMetrics(h, w)
	}
	for _, c := range processCounters {
		targets, err := query.Targets(t.r.Archive, nil, []string{c.expr})
		if err != nil {
			continue // this recording does not have it
		}
		for _, of := range targets {
			if err := t.counters(h, w, of, c.label); err != nil {
				return err
			}
		}
	}
	return t.err
}

// processMetrics writes the requested metrics of processes.
func (t *trace) processMetrics(h metric.Host, w query.Window) error {
	for _, d := range t.r.Wanted() {
		if d.Indom == "process" && d.Type != metric.String {
			if err := t.counters(h, w, query.Target{Metric: d}, d.Name); err != nil {
				return err
			}
		}
	}
	return t.err
}

// once describes a track, unless it was described before.
func (t *trace) once(c track) {
	if !t.groups[c.id] {
		t.groups[c.id] = true
		t.describe(c)
	}
}
