package pmda

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/internal/pcpserve"
	"tachograph/cmd/recorder/computed"
	"tachograph/cmd/recorder/service"
	"tachograph/sample"
	"tachograph/sample/demand"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
)

// Options are what a Machine works with. Rows and Now are required.
type Options struct {
	// Rows makes the platform's table of metrics, anew each time.
	Rows func() []*metric.Desc
	// Now reads the three clocks.
	Now func() metric.Stamp
	// Worked is the processor time that this program has used so far.
	Worked func() time.Duration
	// Usage is what this program uses.
	Usage  func() engine.Usage
	Host   metric.Host
	Labels []metric.Label
	// SetThreads has the threads of other processes read: of those that a pattern
	// matches, or, for nil, of those that are configured. Without it they cannot be
	// changed.
	SetThreads func(patterns []string) error
	// MaxCPU, in cores, bounds what reading may cost over time. Zero means no bound.
	MaxCPU float64
	Log    *slog.Logger
}

// Machine is the machine at hand, read when it is asked.
type Machine struct {
	opt     Options
	reader  *demand.Reader
	catalog atomic.Pointer[offer]
	making  sync.Mutex
	storing sync.Mutex
}

// offer is what there is to ask for, with what is computed of it.
type offer struct {
	pcpserve.Catalog
	formulas map[*metric.Desc]*formula
}

// New makes a Machine of sources, which are its own from then on: Close closes them.
// It fails only where the table has a formula that is wrong.
func New(sources []sample.Source, opt Options) (*Machine, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	m := &Machine{opt: opt}
	about := newSelf(opt.Usage)
	m.reader = demand.New(append(slices.Clone(sources), about), demand.Options{Now: opt.Now, Worked: opt.Worked, MaxCPU: opt.MaxCPU, Log: opt.Log, Changed: m.changed})
	about.status = m.reader.Status
	c, err := m.describe()
	if err != nil {
		m.reader.Close()
		return nil, err
	}
	m.catalog.Store(c)
	m.reader.Start()
	return m, nil
}

// Close ends what goes on in the background and closes the sources that answer.
func (m *Machine) Close() error { return m.reader.Close() }

// describe finds out what there is.
func (m *Machine) describe() (*offer, error) {
	c := &offer{Catalog: pcpserve.Catalog{Host: m.opt.Host, Labels: m.opt.Labels}, formulas: make(map[*metric.Desc]*formula)}
	c.Descs = service.CatalogOf(m.opt.Rows(), m.reader.Groups())
	set, err := computed.New(c.Descs, func(*metric.Desc) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, f := range set.Formulas() {
		c.formulas[f.Desc] = &formula{Formula: f}
	}
	return c, nil
}

// changed is told that a source has other groups now.
func (m *Machine) changed() {
	m.making.Lock()
	defer m.making.Unlock()
	c, err := m.describe()
	if err != nil {
		m.opt.Log.Error("what changed of this machine cannot be described", "error", err)
		return
	}
	m.catalog.Store(c)
}

// Catalog is what there is to ask for.
func (m *Machine) Catalog() *pcpserve.Catalog { return &m.catalog.Load().Catalog }

// Fetch reads what is wanted, as far as what was read last is not young enough.
func (m *Machine) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	c := m.catalog.Load()
	read, formulas := want, []*formula(nil)
	for i, d := range want {
		f := c.formulas[d]
		switch {
		case f == nil:
			if formulas != nil {
				read = append(read, d)
			}
			continue
		case formulas == nil:
			read = append(make([]*metric.Desc, 0, len(want)+8), want[:i]...)
		}
		formulas = append(formulas, f)
	}
	if formulas != nil {
		read = withInputs(read, formulas)
	}
	r := m.reader.Read(ctx, read)
	v := &pcpserve.View{At: r.At, Blocks: r.Blocks, Missing: r.Missing}
	for _, f := range formulas {
		b, why := f.compute(r)
		if b != nil {
			v.Blocks = append(v.Blocks, b)
		} else {
			v.Missing[f.Desc] = why
		}
	}
	return v, nil
}

// withInputs adds to want what formulas are computed from.
func withInputs(want []*metric.Desc, formulas []*formula) []*metric.Desc {
	has := make(map[*metric.Desc]bool, len(want))
	for _, d := range want {
		has[d] = true
	}
	for _, f := range formulas {
		for _, d := range f.Inputs {
			if !has[d] {
				has[d] = true
				want = append(want, d)
			}
		}
	}
	return want
}

// Instances are those that an instance domain has now.
func (m *Machine) Instances(ctx context.Context, indom string) ([]*metric.Instance, error) {
	return m.reader.Instances(ctx, indom)
}
