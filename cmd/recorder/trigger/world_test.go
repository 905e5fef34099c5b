package trigger

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/config"
	"tachograph/sample/catalog"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
)

// world is a machine with a few processes, whose every value a test tells.
type world struct {
	t      *testing.T
	w      *Watcher
	at     time.Duration // since boot
	asleep time.Duration
	used   map[string]uint64 // milliseconds, by key
	procs  []*metric.Instance
	births int
	load   float64 // below 0: cannot be read
	events []metric.Event
	begun  []string
	refuse map[string]error
	groups [2]*metric.Group
}

func descs() []*metric.Desc { return catalog.For(catalog.Linux) }

func find(name string) *metric.Desc { return catalog.Find(catalog.Linux, name) }

func newWorld(t *testing.T, text string) *world {
	w := &world{t: t, at: time.Hour, used: make(map[string]uint64), refuse: make(map[string]error)}
	w.groups = [2]*metric.Group{
		{Name: "p", Indom: "process", Metrics: []*metric.Desc{find("proc.psinfo.utime"), find("proc.psinfo.stime")}},
		{Name: "l", Metrics: []*metric.Desc{find("kernel.all.runnable")}},
	}
	w.w = New(w.set(text), Actions{
		Stacks: func(f Firing, s config.StacksWish) error {
			w.begun = append(w.begun, fmt.Sprintf("stacks of %d", f.PID))
			return w.refuse["stacks"]
		},
		Burst: func(b engine.Burst) error {
			w.begun = append(w.begun, fmt.Sprintf("burst of %v every %v", b.Classes, b.Every))
			return w.refuse["burst"]
		},
		Run: func(f Firing, command []string) error {
			w.begun = append(w.begun, fmt.Sprintf("%v for %d", command, f.PID))
			return w.refuse["run"]
		},
	})
	return w
}

// set are the triggers of a configuration, without the defaults.
func (w *world) set(text string) *Set {
	w.t.Helper()
	cfg, err := config.Parse("f.toml", text)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Triggers = cfg.Triggers[len(config.DefaultTriggers()):]
	s, err := Compile(cfg, descs())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) start(pid int) *metric.Instance {
	// As on macOS, where keys are numbers of their own.
	w.births++
	in := &metric.Instance{ID: uint64(pid), Key: fmt.Sprint(w.births), Name: fmt.Sprintf("%06d p", pid), Labels: []metric.Label{{Name: "pid", Value: fmt.Sprint(pid)}}}
	w.procs = append(w.procs, in)
	return in
}

func (w *world) end(in *metric.Instance) {
	for i, p := range w.procs {
		if p == in {
			w.procs = append(w.procs[:i:i], w.procs[i+1:]...)
			return
		}
	}
}

func (w *world) now() metric.Stamp {
	return metric.Stamp{Wall: int64(w.at + w.asleep), Awake: int64(w.at), Cont: int64(w.at + w.asleep)}
}

// run lets time pass, in which each process uses as much of a core as busy says;
// below 0 so much, which cannot be read.
func (w *world) run(length time.Duration, busy map[*metric.Instance]float64) {
	const step = 5 * time.Second
	for end := w.at + length; w.at < end; {
		w.at += step
		b := &metric.Block{Group: w.groups[0], At: w.now(), Cols: make([]metric.Column, 2)}
		for _, in := range w.procs {
			b.Rows = append(b.Rows, in)
			v := metric.Value{Type: metric.U64}
			w.used[in.Key] += uint64(math.Abs(busy[in]) * 5000)
			if busy[in] < 0 {
				v.Miss = metric.Permission
			} else {
				v.Bits = w.used[in.Key]
			}
			b.Cols[0].Push(v)
			b.Cols[1].Push(metric.Value{Type: metric.U64, Bits: 0, Miss: v.Miss})
		}
		l := &metric.Block{Group: w.groups[1], At: w.now(), Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, 1)}
		v := metric.Value{Type: metric.U64, Bits: uint64(max(w.load, 0))}
		if w.load < 0 {
			v.Miss = metric.Permission
		}
		l.Cols[0].Push(v)
		w.tick(metric.Process, 0, b)
		w.tick(metric.Fast, 0, l)
	}
}

func (w *world) tick(class metric.Class, stall time.Duration, blocks ...*metric.Block) {
	w.events = append(w.events, w.w.Look(&metric.Tick{Class: class, At: w.now(), Blocks: blocks}, stall)...)
}

// told takes the events that came since it was asked last.
func (w *world) told(want int) []metric.Event {
	w.t.Helper()
	got := w.events
	w.events = nil
	if len(got) != want {
		var texts []string
		for _, e := range got {
			texts = append(texts, e.Text)
		}
		w.t.Errorf("%d events, want %d:\n%s", len(got), want, strings.Join(texts, "\n"))
	}
	return got
}

var errBusy = errors.New("stacks are being sampled already")
