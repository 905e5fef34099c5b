package pcplive

import (
	"context"
	"errors"
	"sync"
	"time"

	"tachograph/cmd/internal/pcpserve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/metric"
)

// A Hub tells how things stand, and when that is otherwise: a *live.Hub.
type Hub interface {
	Now(context.Context) (*live.State, error)
	Next(context.Context, *live.State) (*live.State, error)
}

// Options say what a Machine is made of.
type Options struct {
	Hub Hub
	// Known is what archives say of themselves: a catalogue.Keeper's.
	Known func() (*catalogue.Known, error)
	// Clock is what time it is; nil: time.Now.
	Clock func() time.Time
	// Version is the program's.
	Version string
}

// A Machine is a followed archive as pcpserve.Metrics.
type Machine struct {
	opt Options

	mu      sync.Mutex
	found   *found        // nil: nothing is known yet
	looked  time.Time     // when it was looked
	looking chan struct{} // closed when the look that goes on is over; nil: none does
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
	// fresh is for how long it is not looked again what there is: it takes as much as
	// following for some seconds does. Where there is doubt it is sooner.
	fresh  = time.Minute
	doubts = 5 * time.Second
	// patience is how long who asks first waits for it.
	patience = 2 * time.Second
)

// Catalog is what there is. Nobody but who asks first waits for that.
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

// nothing is what there is where nothing can be read.
var nothing pcpserve.Catalog

// look looks what there is now. Of what cannot be read it is known what there was.
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

// doubt notes which classes are old and which are not, of those that were asked for. That
// one has become old may be because the recorder was told to read it more seldom.
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

// Fetch is how things stand.
func (m *Machine) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	m.mu.Lock()
	found := m.found
	m.mu.Unlock()
	v := &pcpserve.View{At: metric.Stamp{Wall: m.opt.Clock().UnixNano()}, Missing: make(map[*metric.Desc]metric.Reason)}
	if found == nil {
		return v, nil // there is nothing that could be wanted
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
				v.Missing[d] = metric.TimedOut // it is tried again
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

// await waits for a reading that is due. Who asks once a second is otherwise given the
// same reading twice, and then two at a time, if he asks just when it is read.
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

// How long before a reading it is due, and how long after it would have been it is waited
// for: who records takes its time, and what does not come at all keeps nobody waiting.
const (
	early = 20 * time.Millisecond
	late  = 200 * time.Millisecond
)

// due is how long to wait for what is about to be read; 0 if nothing is.
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

// atLeast is the age below which nothing is old.
const atLeast = 5 * time.Second

// Instances are those that a domain had when it was read last. Where that is too long ago
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
