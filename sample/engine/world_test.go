package engine

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// world is a machine whose clocks a test controls. It lives in a synctest bubble: time
// advances when all goroutines wait.
type world struct {
	t      *testing.T
	start  time.Time
	stall  atomic.Int64 // added to all clocks: time in which timers did not run
	asleep atomic.Int64 // added to the continuous clock and the wall
	step   atomic.Int64 // added to the wall clock
	cpu    atomic.Int64
	zone   atomic.Pointer[string]
	sink   memorySink
	log    syncBuffer
}

const bootedBefore = int64(time.Hour)

func newWorld(t *testing.T) *world { return &world{t: t, start: time.Now()} }

func (w *world) now() metric.Stamp {
	awake := bootedBefore + int64(time.Since(w.start)) + w.stall.Load()
	cont := awake + w.asleep.Load()
	return metric.Stamp{Wall: w.start.UnixNano() + cont + w.step.Load(), Awake: awake, Cont: cont}
}

func (w *world) options(plan Plan, sources ...sample.Source) Options {
	return Options{
		Sources: sources, Plan: plan, Sink: &w.sink, Now: w.now,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Zone: func() string {
			if z := w.zone.Load(); z != nil {
				return *z
			}
			return "UTC"
		},
		WakeReason: func() string { return "lid" },
		Usage:      func() Usage { return Usage{User: time.Duration(w.cpu.Load()), Resident: 20 << 20} },
	}
}

// run starts an engine. It returns the engine and a function that stops it and returns how
// long that took.
func (w *world) run(opt Options) (*Engine, func() time.Duration) {
	e, err := New(opt)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.Run(ctx) }()
	return e, func() time.Duration {
		began := time.Now()
		cancel()
		<-done
		took := time.Since(began)
		// Readings that were given up must end before the bubble does.
		time.Sleep(3 * time.Second)
		synctest.Wait()
		return took
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// memorySink keeps what an engine stores.
type memorySink struct {
	mu     sync.Mutex
	ticks  []keptTick
	events []metric.Event
	descs  int
	err    error
}

type keptTick struct {
	class  metric.Class
	at     metric.Stamp
	blocks map[string]keptBlock
}

type keptBlock struct {
	at    metric.Stamp
	names []string
	cells map[string][]metric.Value // by metric
}

func (m *memorySink) Append(t *metric.Tick) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	k := keptTick{class: t.Class, at: t.At, blocks: make(map[string]keptBlock)}
	for _, b := range t.Blocks {
		kb := keptBlock{at: b.At, cells: make(map[string][]metric.Value)}
		for _, in := range b.Rows {
			if in != nil {
				kb.names = append(kb.names, in.Name)
			}
		}
		for i, d := range b.Group.Metrics {
			for row := range b.Rows {
				kb.cells[d.Name] = append(kb.cells[d.Name], b.Cols[i].At(d.Type, row))
			}
		}
		k.blocks[b.Group.Name] = kb
	}
	m.ticks = append(m.ticks, k)
	return nil
}

func (m *memorySink) Event(es ...metric.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, es...)
	return nil
}

func (m *memorySink) Describe(ds []*metric.Desc) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.descs += len(ds)
	return nil
}

// of returns the ticks of a class that have a block of the named group.
func (m *memorySink) of(c metric.Class, group string) []keptTick {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []keptTick
	for _, t := range m.ticks {
		if _, ok := t.blocks[group]; ok && t.class == c {
			out = append(out, t)
		}
	}
	return out
}

func (m *memorySink) kinds(kinds ...metric.EventKind) []metric.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []metric.Event
	for _, e := range m.events {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// probe is a source made from a function.
type probe struct {
	name      string
	groups    []*metric.Group
	read      func(c *sample.Context, frames []*sample.Frame) error
	refreshed atomic.Int32
	// grow, if set, replaces the groups at the next Refresh.
	grow atomic.Pointer[[]*metric.Group]
}

func (p *probe) Name() string            { return p.name }
func (p *probe) Groups() []*metric.Group { return p.groups }
func (p *probe) Close() error            { return nil }
func (p *probe) Refresh() error {
	p.refreshed.Add(1)
	if groups := p.grow.Swap(nil); groups != nil {
		p.groups = *groups
	}
	return nil
}
func (p *probe) Read(c *sample.Context, frames []*sample.Frame) error {
	return p.read(c, frames)
}

// counting makes a source with one counter in each of the classes, which counts its
// readings. It calls before at the beginning of each reading.
func counting(name string, before func() error, classes ...metric.Class) *probe {
	p := &probe{name: name}
	n := uint64(0)
	for _, c := range classes {
		p.groups = append(p.groups, &metric.Group{Name: name + "." + c.String(), Metrics: []*metric.Desc{
			{Name: name + "." + c.String() + ".count", Type: metric.U64, Class: c},
		}})
	}
	p.read = func(c *sample.Context, frames []*sample.Frame) error {
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		for _, f := range frames {
			f.Reset(c.Now())
			n++
			row := f.Row(nil)
			for i := range f.Full().Metrics {
				f.SetUint(row, i, n)
			}
		}
		return nil
	}
	return p
}

// defaultPlan reads every metric in its natural class, without bounds, and no threads.
func defaultPlan() Plan {
	var p Plan
	for c := metric.Class(0); c < metric.NumClasses; c++ {
		p.Intervals[c] = c.Interval()
	}
	p.Intervals[metric.Thread] = 0
	p.Intervals[metric.Disabled] = 0
	p.Class = func(d *metric.Desc) metric.Class { return d.Class }
	return p
}
