package browse

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// fake is an engine whose recording has a sample each second, and that can be made to
// wait, to fail and to panic.
type fake struct {
	mu       sync.Mutex
	from, to int64
	asked    []string      // what was asked
	gate     chan struct{} // if set, At waits for it
	entered  chan struct{} // told when At begins to wait
	holds    func(ctx context.Context) (int64, int64, bool, error)
	panics   string // the call that panics
	fails    string // the call that fails
	until    context.Context
	waits    bool    // Diff waits until it is given up
	seen     float64 // what Progress tells
	stacks   *stacks.Profile
}

func newFake(length time.Duration) *fake { return &fake{from: at(0), to: at(length)} }

func (f *fake) call(name string) error {
	f.mu.Lock()
	f.asked = append(f.asked, name)
	panics, fails := f.panics == name, f.fails == name
	f.mu.Unlock()
	if panics {
		panic("the engine of the test")
	}
	if fails {
		return errors.New(name + " cannot be answered")
	}
	return nil
}

// count is how often something was asked.
func (f *fake) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.asked {
		if s == name {
			n++
		}
	}
	return n
}

// grow adds samples.
func (f *fake) grow(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to += int64(d)
}

func (f *fake) Host() metric.Host { return metric.Host{ID: "F", Name: "fake", Platform: "linux"} }

func (f *fake) Span() (from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.from, f.to
}

var cpuLane = moment.Lane{Name: "cpu", Title: "cpu", Share: true}

func (f *fake) Lanes() []moment.Lane { return []moment.Lane{cpuLane} }

func (f *fake) Timeline(from, to int64, columns int) (*moment.Timeline, error) {
	if err := f.call("Timeline"); err != nil {
		return nil, err
	}
	t := moment.Track{Lane: cpuLane, Mean: make([]float64, columns), High: make([]float64, columns), Scale: 1}
	for k := range columns {
		t.Mean[k], t.High[k] = float64(k)/float64(columns), 1
	}
	return &moment.Timeline{From: from, To: to, Columns: columns, Lanes: []moment.Track{t}}, nil
}

func (f *fake) Step(at int64, n int) int64 {
	from, to := f.Span()
	at = (at-from)/int64(time.Second)*int64(time.Second) + from
	return min(max(at+int64(n)*int64(time.Second), from), to)
}

func (f *fake) Stacks(int64) (*stacks.Profile, error) { return f.stacks, f.call("Stacks") }

func (f *fake) Next(int64, bool) (moment.Mark, bool) { return moment.Mark{}, false }

func (f *fake) Peak(string, int64, int64) (int64, float64, bool, error) { return 0, 0, false, nil }

func (f *fake) Holds(ctx context.Context, _ string, _ int64, _ bool) (int64, int64, bool, error) {
	if err := f.call("Holds"); err != nil {
		return 0, 0, false, err
	}
	return f.holds(ctx)
}

func (f *fake) At(at int64) (*moment.Moment, error) {
	if err := f.call("At"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	gate, entered := f.gate, f.entered
	f.mu.Unlock()
	if gate != nil {
		entered <- struct{}{}
		<-gate
	}
	at = f.Step(at, 0)
	m := &moment.Moment{Asked: at, At: at, Before: at - 1e9, After: at + 1e9, Sweep: at, Unseen: -1}
	for i, name := range []string{"alpha", "beta", "gamma"} {
		m.Processes = append(m.Processes, process(i+1, name, float64(i)/10))
	}
	return m, nil
}

func (f *fake) Network(int64) (*moment.Network, error) { return nil, f.call("Network") }

func (f *fake) Life(string) (*moment.Life, error) {
	if err := f.call("Life"); err != nil {
		return nil, err
	}
	p := process(1, "alpha", 0.1)
	return &moment.Life{History: &query.History{Process: *p.Process, From: f.from, To: f.to}, Key: p.Key}, nil
}

func (f *fake) Course(key string, from, to int64, columns int) (*moment.Track, error) {
	return &moment.Track{Lane: moment.Lane{Title: key, Share: true}, Mean: blank(columns), High: blank(columns), Scale: 1}, f.call("Course")
}

func (f *fake) Diff(int64, int64) ([]*query.Change, error) {
	err := f.call("Diff")
	if f.waits {
		<-f.until.Done()
		return nil, f.until.Err()
	}
	return nil, err
}

func (f *fake) Until(ctx context.Context) { f.until = ctx }

func (f *fake) Progress() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// process is one that used so much of a core.
func process(pid int, name string, cpu float64) *moment.Process {
	p := &query.Process{PID: pid, Name: name, User: "root", State: "S", Instance: &metric.Instance{Key: name}}
	for i := range p.Rates {
		p.Rates[i], p.Totals[i] = math.NaN(), math.NaN()
	}
	for i := range p.Levels {
		p.Levels[i] = math.NaN()
	}
	p.Rates[query.UserTime], p.Rates[query.SystemTime] = cpu, 0
	p.Levels[query.Resident] = float64(pid) * (1 << 20)
	return &moment.Process{Process: p, Key: name}
}

// names are the names of rows, in order.
func names(rows []row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.p.Name)
	}
	return slices.Clip(out)
}
