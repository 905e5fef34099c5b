package query

import (
	"math"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// BeforeLength is how long before a death is looked at.
const BeforeLength = 10 * time.Minute

// Before is what a process did in the minutes before its death.
type Before struct {
	// History is its last minutes, in steps of StepBefore; nil if no reading met it.
	History *History
	// First and Last are its memory at the beginning, or when it was first seen, and when it was
	// last read.
	First, Last         float64
	FirstAt, LastAt     int64
	CPU                 float64 // the share of a core in the last minute
	CPUBefore           float64 // and in the minutes before that
	FirstThread, Thread float64
	// Files are the descriptors that it had open, of so many allowed.
	Files, MostFiles float64
	// Group is the memory control group that it was in, if that has a limit: how much memory it held
	// in the end, of how much.
	Group       string
	Held, Limit float64
}

// StepBefore is the length of the steps of a history before a death.
const StepBefore = 10 * time.Second

// BeforeDeath returns what a process did before its death.
func BeforeDeath(a Archive, d *Death) (*Before, error) {
	nan := math.NaN()
	b := &Before{First: nan, Last: nan, CPU: nan, CPUBefore: nan, FirstThread: nan, Thread: nan, Files: nan, MostFiles: nan, Held: nan, Limit: nan}
	w := Window{Hosts: []string{d.Archive.Host.ID}, From: d.At - int64(BeforeLength), To: d.At}
	b.group(a, w, d)
	if d.Instance.Key == "" {
		return b, nil
	}
	var life *store.Life
	for l := range a.Lives("process", w.From, w.To, d.Instance.Key) {
		if w.Wants(l.Archive.Host.ID) && l.Archive.BootID == d.Archive.BootID {
			c := *l
			life = &c
		}
	}
	if life == nil {
		return b, nil
	}
	history, err := HistoryOf(a, w, life, int64(StepBefore))
	if err != nil {
		return nil, err
	}
	b.History = history
	b.course()
	b.files(a, w, d)
	return b, nil
}

// course takes the figures from the steps of the history.
func (b *Before) course() {
	var late, early [2]float64 // sums and numbers of steps
	for i := range b.History.Rows {
		r := &b.History.Rows[i]
		if m := r.Memory(); m == m {
			if b.FirstAt == 0 {
				b.First, b.FirstAt = m, r.At
			}
			b.Last, b.LastAt = m, r.At
		}
		if n := r.Levels[Threads]; n == n {
			if math.IsNaN(b.FirstThread) {
				b.FirstThread = n
			}
			b.Thread = n
		}
		if cpu := r.CPU(); cpu == cpu {
			of := &early
			if r.At > b.History.To-int64(time.Minute) {
				of = &late
			}
			of[0] += cpu
			of[1]++
		}
	}
	if late[1] > 0 {
		b.CPU = late[0] / late[1]
	}
	if early[1] > 0 {
		b.CPUBefore = early[0] / early[1]
	}
}

// files reads how many descriptors the process had.
func (b *Before) files(a Archive, w Window, d *Death) {
	sel := w.Selection("proc.fd.count", "proc.fd.limit")
	sel.Keys, sel.Prior = []string{d.Instance.Key}, true
	for run := range a.Select(sel) {
		for i := range run.Wall {
			if run.Miss != nil && run.Miss[i] != metric.Present || run.Archive.BootID != d.Archive.BootID {
				continue
			}
			x := metric.Number(run.Metric.Type, run.Bits[i])
			if run.Metric.Name == "proc.fd.count" {
				b.Files = x
			} else {
				b.MostFiles = x
			}
		}
	}
}

// group finds the memory limit of the control group that the process was in: the one that the system
// names, else that of its owner that was nearest to its limit.
func (b *Before) group(a Archive, w Window, d *Death) {
	named, whose := d.label("group"), d.Whose()
	sel := w.Selection("cgroup.memory.current", "cgroup.memory.limit")
	sel.Prior = true
	sel.Instance = func(_ string, in *metric.Instance) bool {
		if named != "" {
			return in.Key == named || in.Name == named
		}
		return whose != (Whose{}) && WhoseIs(in) == whose && in.Label("inner") == ""
	}
	type group struct{ held, limit float64 }
	groups := make(map[string]*group)
	var names []string
	for run := range a.Select(sel) {
		if run.Instance == nil {
			continue
		}
		g := groups[run.Instance.Name]
		if g == nil {
			g = &group{math.NaN(), math.NaN()}
			groups[run.Instance.Name] = g
			names = append(names, run.Instance.Name)
		}
		for i := range run.Wall {
			if run.Miss != nil && run.Miss[i] != metric.Present {
				continue
			}
			x := metric.Number(run.Metric.Type, run.Bits[i]) * base(run.Metric.Units)
			if run.Metric.Name == "cgroup.memory.limit" {
				g.limit = x
			} else {
				g.held = x
			}
		}
	}
	for _, name := range names {
		g := groups[name]
		if g.limit > 0 && (b.Group == "" || g.held*b.Limit > b.Held*g.limit) {
			b.Group, b.Held, b.Limit = name, g.held, g.limit
		}
	}
}
