package pcplive

import (
	"context"
	"errors"
	"sync"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/metric"
)

// A Hub returns the present state and waits for the next: a *live.Hub.
type Hub interface {
	Now(context.Context) (*live.State, error)
	Next(context.Context, *live.State) (*live.State, error)
}

// Options are the parts of a Machine.
type Options struct {
	Hub Hub
	// Known returns what archives say about themselves: see catalogue.Keeper.
	Known func() (*catalogue.Known, error)
	// Clock returns the time; nil: time.Now.
	Clock func() time.Time
	// Version is the version of this program.
	Version string
}

// A Machine serves a followed archive as pcpserve.Metrics.
type Machine struct {
	opt Options

	mu      sync.Mutex
	found   *found        // nil: nothing is known yet
	looked  time.Time     // when the last look began
	looking chan struct{} // closed when the present look is over; nil: none
	doubted bool          // what is recorded is not what was found
	old     [metric.NumClasses]bool
}

// New returns a Machine.
func New(opt Options) *Machine {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	return &Machine{opt: opt}
}

const (
	// fresh is how long the list of metrics is valid: a look costs as much as some seconds of
	// following. If it is in doubt, it is valid for doubts only.
	fresh  = time.Minute
	doubts = 5 * time.Second
	// patience is how long the first client waits for a list.
	patience = 2 * time.Second
)

// Catalog returns the list of metrics. Only the first client waits for it.
func (m *Machine) Catalog() *pcpserve.Catalog {
	m.mu.Lock()
	holds := fresh
	if m.doubted || m.found != nil && m.found.info == nil {
		holds = doubts
	}
	if age := m.opt.Clock().Sub(m.looked); m.looking == nil && (m.found == nil || age < 0 || age > holds) {
		m.looking = make(chan struct{})
		go m.look(m.looking)
	}
	have, looking := m.found, m.looking
	m.mu.Unlock()
	if have == nil {
		select {
		case <-looking:
		case <-time.After(patience):
		}
		m.mu.Lock()
		have = m.found
		m.mu.Unlock()
	}
	if have == nil {
		return &nothing
	}
	return have.Catalog
}

// nothing is the list if nothing can be read.
var nothing pcpserve.Catalog

// look reads the list of metrics. If that fails, the previous list stays.
func (m *Machine) look(done chan struct{}) {
	m.mu.Lock()
	before := m.found
	m.mu.Unlock()
	known, err := m.opt.Known()
	now := before
	if err == nil {
		now = find(before, known, m.opt.Version)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found, m.looked, m.looking, m.doubted = now, m.opt.Clock(), nil, false
	close(done)
}

// doubt notes which of the requested classes are old. A class may have become old because the
// recorder was configured to read it less often.
func (m *Machine) doubt(f *found, state *live.State, asked, old *[metric.NumClasses]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.info == nil || f.info.ID != state.Archive.ID {
		m.doubted = true
	}
	for c := range asked {
		if asked[c] {
			m.doubted = m.doubted || old[c] && !m.old[c]
			m.old[c] = old[c]
		}
	}
}

// Fetch returns the present values.
func (m *Machine) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	m.mu.Lock()
	found := m.found
	m.mu.Unlock()
	v := &pcpserve.View{At: metric.Stamp{Wall: m.opt.Clock().UnixNano()}, Missing: make(map[*metric.Desc]metric.Reason)}
	if found == nil {
		return v, nil // no metric is known that could be wanted
	}
	v.Blocks = append(v.Blocks, found.own)
	state, err := m.opt.Hub.Now(ctx)
	if err == nil && state.Archive != nil {
		state = m.await(ctx, found, state, want)
	}
	switch {
	case errors.Is(err, live.ErrStopped):
		return nil, err
	case err != nil || state.Archive == nil:
		for _, d := range want {
			if !found.isOwn(d) {
				v.Missing[d] = metric.TimedOut // the client tries again
			}
		}
		return v, nil
	}
	now := m.opt.Clock()
	v.At.Wall = now.UnixNano()
	seen := make(map[*metric.Block]bool)
	var asked, old [metric.NumClasses]bool
	defer func() { m.doubt(found, state, &asked, &old) }()
	for _, d := range want {
		r, ok := state.Lookup(d.Name)
		if ok && r.Class < metric.NumClasses {
			asked[r.Class] = true
		}
		switch {
		case found.isOwn(d):
		case !ok:
			v.Missing[d] = metric.NotRead
		case state.Old(&r, found.every(state, r.Class), atLeast, now):
			v.Missing[d] = metric.TimedOut
			if r.Class < metric.NumClasses {
				old[r.Class] = true
			}
		case d.Formula != "":
			if b := found.computed(d, &r); b != nil {
				v.Blocks = append(v.Blocks, b)
			}
		case !seen[r.Block]:
			seen[r.Block] = true
			b := *r.Block
			b.Group = found.group(r.Block.Group)
			v.Blocks = append(v.Blocks, &b)
		}
	}
	return v, nil
}

// await waits for a reading that is due. Without it, a client that asks once a second, just when
// values are read, would get one reading twice and then skip one.
func (m *Machine) await(ctx context.Context, f *found, state *live.State, want []*metric.Desc) *live.State {
	var cancel context.CancelFunc
	for {
		wait := m.due(f, state, want)
		if wait <= 0 {
			return state
		}
		if cancel == nil {
			ctx, cancel = context.WithTimeout(ctx, wait)
			defer cancel()
		}
		next, err := m.opt.Hub.Next(ctx, state)
		if err != nil {
			return state
		}
		state = next
	}
}

// early is how long before a reading a fetch waits for it, and late how long after it was due:
// the recorder takes its time, and a reading that never comes delays no client.
const (
	early = 20 * time.Millisecond
	late  = 200 * time.Millisecond
)

// due returns how long to wait for a reading that is about to come; 0 if none is.
func (m *Machine) due(f *found, state *live.State, want []*metric.Desc) (wait time.Duration) {
	var seen [metric.NumClasses]bool
	now := m.opt.Clock()
	for _, d := range want {
		r, ok := state.Lookup(d.Name)
		if !ok || r.Class >= metric.NumClasses || seen[r.Class] {
			continue
		}
		seen[r.Class] = true
		every := f.every(state, r.Class)
		if every <= 0 || every > live.Seldom {
			continue
		}
		left := every - r.Age(now)
		if left <= min(early, every/10) {
			wait = max(wait, left+min(late, every/4))
		}
	}
	return wait
}

// atLeast is the age below which no reading counts as old.
const atLeast = 5 * time.Second

// Instances returns the instances that a domain had in its last reading. If that is too old,
// nothing is known.
func (m *Machine) Instances(ctx context.Context, indom string) ([]*metric.Instance, error) {
	state, err := m.opt.Hub.Now(ctx)
	if err != nil {
		return nil, err
	}
	list := state.Instances(indom)
	if len(list) == 0 {
		return nil, nil
	}
	m.mu.Lock()
	found := m.found
	m.mu.Unlock()
	now := m.opt.Clock()
	for r := range state.Readings() {
		if r.Metric.Indom == indom && (found == nil || !state.Old(&r, found.every(state, r.Class), atLeast, now)) {
			return list, nil
		}
	}
	return nil, errOld
}

var errOld = errors.New("it was read too long ago to say how things stand")
