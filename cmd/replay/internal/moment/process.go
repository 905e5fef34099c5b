package moment

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// Process is one process at a moment. Its numbers are those of package query: CPU, Memory, Rates,
// Levels and so on.
type Process struct {
	*query.Process
	// Key identifies the process among all that were recorded, also where its pid was used again.
	Key string
	// ParentKey is the key of its parent; "" where that is not known.
	ParentKey string
	// Command is the command line, or the recorded part of it; "" if none was recorded.
	Command string
	// Began says that it was not there at the sweep before.
	Began bool
	// Exit is the event of its end, if it has ended since the sweep before and that was recorded.
	Exit *store.Event
}

// Brief are processes that came and went between two sweeps, as events name them.
type Brief struct {
	Name  string
	PID   int // 0 for several together
	Count int
	How   string
	Exit  *store.Event
}

// mostBrief bounds how many are named.
const mostBrief = 1000

// sweeps are the tables of processes that were read last, the latest read at the end.
type sweeps struct {
	list []*sweep
}

type sweep struct {
	tick, every int64
	processes   []*Process
	byKey       map[string]*Process
}

// mostSweeps is how many tables are kept.
const mostSweeps = 16

// keyOf returns the key of a process among all that were recorded on a host.
func keyOf(info *store.ArchiveInfo, in *metric.Instance) string { return info.BootID + "/" + in.Key }

// sweepAt returns the table of processes at the last reading not after an instant; nil if there
// is none.
func (r *Recording) sweepAt(at int64) *sweep {
	tick, every := query.Tick(r.near(at), r.host.ID, at)
	if tick == 0 {
		return nil
	}
	for i, s := range r.sweep.list {
		if s.tick == tick {
			r.sweep.list = append(slices.Delete(r.sweep.list, i, i+1), s)
			return s
		}
	}
	s := &sweep{tick: tick, every: every, byKey: make(map[string]*Process)}
	for _, p := range query.Processes(r.near(tick), r.window(0, 0), tick, nil) {
		one := r.process(p)
		s.processes = append(s.processes, one)
		s.byKey[one.Key] = one
	}
	r.commands(s)
	if r.given() != nil {
		return s // Some may be missing.
	}
	if len(r.sweep.list) >= mostSweeps {
		r.sweep.list = r.sweep.list[1:]
	}
	r.sweep.list = append(r.sweep.list, s)
	return s
}

// commands fills in the command lines that were recorded.
func (r *Recording) commands(s *sweep) {
	query.Commands(r.a, r.host.ID, s.tick, s.every, func(info *store.ArchiveInfo, in *metric.Instance, line string) {
		if p := s.byKey[keyOf(info, in)]; p != nil {
			p.Command = line
		}
	})
}

func (r *Recording) process(p *query.Process) *Process {
	one := &Process{Process: p, Key: keyOf(p.Archive, p.Instance), Command: p.Instance.Label("exe")}
	if parent := p.Parent(); parent != "" {
		one.ParentKey = p.Archive.BootID + "/" + parent
	}
	return one
}

// processes fills in a moment's processes.
func (r *Recording) processes(m *Moment) {
	now := r.sweepAt(m.At)
	if now == nil {
		return
	}
	m.Sweep = now.tick
	before := r.before(now)
	if before != nil {
		m.LastSweep = before.tick
	}
	exits := r.exits(m, before)
	for _, p := range now.processes {
		one := *p
		one.Exit = exits[p.Key]
		if before != nil {
			one.Began = !before.there[p.Key]
		}
		if one.Began {
			m.Began++
		}
		m.Processes = append(m.Processes, &one)
		if one.Exit != nil {
			m.Ended = append(m.Ended, &one)
		}
	}
	if before == nil {
		return
	}
	for _, p := range r.gone(now, before) {
		one := *p
		one.Exit, one.Began = exits[p.Key], false
		m.Ended = append(m.Ended, &one)
	}
	slices.SortStableFunc(m.Ended, func(x, y *Process) int { return cmp.Compare(x.PID, y.PID) })
	for key, e := range exits {
		if !before.there[key] && now.byKey[key] == nil && e.At.Wall <= now.tick && len(m.Brief) < mostBrief {
			pid, _ := strconv.Atoi(e.Label("pid"))
			m.Brief = append(m.Brief, &Brief{Name: visible.Text(e.Label("name")), PID: pid, Count: 1, How: visible.Text(e.Label("how")), Exit: e})
		}
	}
	slices.SortFunc(m.Brief, func(x, y *Brief) int {
		return cmp.Or(cmp.Compare(x.Exit.At.Wall, y.Exit.At.Wall), cmp.Compare(x.PID, y.PID))
	})
	r.unseen(m)
}

// presence says which processes were there at a sweep.
type presence struct {
	tick  int64
	there map[string]bool
}

// presenceMetrics are metrics that cheaply show whether a process was there; the first that was
// recorded is used.
var presenceMetrics = []string{"proc.memory.rss", "proc.psinfo.utime", "proc.psinfo.threads"}

// before returns the processes that were there at the sweep before; nil if there was none shortly
// before.
func (r *Recording) before(now *sweep) *presence {
	i := slices.IndexFunc(presenceMetrics, func(name string) bool {
		d := r.a.Lookup(name)
		return d != nil && d.Unsupported == "" && d.Class == metric.Process
	})
	if i < 0 || r.unread(now.tick-3*now.every, now.tick) {
		// A sweep may not have got round to all processes: only the whole table is complete.
		s := r.sweepAt(now.tick - 1)
		if s == nil || now.tick-s.tick > 3*now.every {
			return nil
		}
		p := &presence{tick: s.tick, there: make(map[string]bool)}
		for key := range s.byKey {
			p.there[key] = true
		}
		return p
	}
	last := make(map[string]int64)
	p := &presence{there: make(map[string]bool)}
	for run := range r.a.Select(r.window(now.tick-3*now.every, now.tick-1).Selection(presenceMetrics[i])) {
		k := len(run.Wall) - 1
		if run.Instance == nil || run.Miss != nil && run.Miss[k] == metric.Vanished {
			continue // One more row may hold what it had used when it ended.
		}
		last[keyOf(run.Archive, run.Instance)] = run.Wall[k]
		p.tick = max(p.tick, run.Wall[k])
	}
	for key, tick := range last {
		if tick == p.tick {
			p.there[key] = true
		}
	}
	if p.tick == 0 {
		return nil
	}
	return p
}

// unread reports whether a sweep between two instants had no time for all processes.
func (r *Recording) unread(from, to int64) bool {
	for run := range r.a.Select(r.window(from, to).Selection("proc.unread")) {
		for i, bits := range run.Bits {
			if bits != 0 && (run.Miss == nil || run.Miss[i] == metric.Present) {
				return true
			}
		}
	}
	return false
}

// gone returns the processes that were there before and are not now, as they were then.
func (r *Recording) gone(now *sweep, before *presence) []*Process {
	missing := make(map[string]bool)
	for key := range before.there {
		if now.byKey[key] == nil {
			_, own, _ := strings.Cut(key, "/")
			missing[own] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var out []*Process
	keep := func(_ string, in *metric.Instance) bool { return missing[in.Key] }
	for _, p := range query.Processes(r.near(before.tick), r.window(0, 0), before.tick, keep) {
		if key := keyOf(p.Archive, p.Instance); before.there[key] && now.byKey[key] == nil {
			out = append(out, r.process(p))
		}
	}
	return out
}

// exits returns the ends of processes since the sweep before, by key.
func (r *Recording) exits(m *Moment, before *presence) map[string]*store.Event {
	from := m.Sweep
	if before != nil {
		from = before.tick
	}
	out := make(map[string]*store.Event)
	for e := range query.SortedEvents(r.a, r.window(from+1, max(m.Asked, m.At)), metric.EventProcessExit, metric.EventProcessExits) {
		if e.Kind == metric.EventProcessExits {
			n, _ := strconv.Atoi(e.Label("count"))
			if n > 0 && len(m.Brief) < mostBrief {
				m.Brief = append(m.Brief, &Brief{Name: visible.Text(e.Label("name")), Count: n, Exit: e})
			}
			continue
		}
		if len(out) < mostInstances*4 {
			out[e.Archive.BootID+"/"+e.Key] = e
		}
	}
	return out
}

// unseen counts the processes that came and went between the two sweeps.
func (r *Recording) unseen(m *Moment) {
	for _, name := range []string{"proc.unseen", "proc.unseen_max"} {
		d := r.a.Lookup(name)
		if d == nil || d.Unsupported != "" {
			continue
		}
		first, last, n := uint64(0), uint64(0), 0
		for run := range r.a.Select(r.window(m.LastSweep, m.Sweep).Selection(name)) {
			for i := range run.Wall {
				if run.Miss != nil && run.Miss[i] != metric.Present {
					continue
				}
				if n == 0 {
					first = run.Bits[i]
				}
				last = run.Bits[i]
				n++
			}
		}
		if n > 1 && last >= first && last-first < 1<<31 {
			m.Unseen, m.UnseenMost = int(last-first), name == "proc.unseen_max"
			return
		}
	}
}
