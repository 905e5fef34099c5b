package pmda

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/internal/computed"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample"
	"tachograph/sample/demand"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
)

// Options are the parts of a Machine. Rows and Now are required.
type Options struct {
	// Rows makes the platform's table of metrics; each call makes a new one.
	Rows func() []*metric.Desc
	// Now reads the three clocks.
	Now func() metric.Stamp
	// Worked returns the CPU time that this program has used so far.
	Worked func() time.Duration
	// Usage returns what this program uses.
	Usage  func() engine.Usage
	Host   metric.Host
	Labels []metric.Label
	// SetThreads selects the processes whose threads are read: those that match a pattern or,
	// for nil, the configured ones. If it is nil, the selection cannot be changed.
	SetThreads func(patterns []string) error
	// MaxCPU, in cores, limits what reading may cost over time. Zero means no limit.
	MaxCPU float64
	Log    *slog.Logger
}

// Machine is this machine, read on demand.
type Machine struct {
	opt     Options
	reader  *demand.Reader
	catalog atomic.Pointer[offer]
	making  sync.Mutex
	storing sync.Mutex
}

// offer is the list of available metrics, with the formulas of the computed ones.
type offer struct {
	pcpserve.Catalog
	formulas map[*metric.Desc]*formula
}

// New makes a Machine of sources, which then belong to it: Close closes them. It fails only if
// the table has a wrong formula.
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

// Close ends the work in the background and closes the sources that still answer.
func (m *Machine) Close() error { return m.reader.Close() }

// describe finds the available metrics.
func (m *Machine) describe() (*offer, error) {
	c := &offer{Catalog: pcpserve.Catalog{Host: m.opt.Host, Labels: m.opt.Labels}, formulas: make(map[*metric.Desc]*formula)}
	c.Descs = platform.MetricsOf(m.opt.Rows(), m.reader.Groups())
	set, err := computed.New(c.Descs, func(*metric.Desc) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, f := range set.Formulas() {
		c.formulas[f.Desc] = &formula{Formula: f}
	}
	return c, nil
}

// changed is called when a source has other groups.
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

// Catalog returns the available metrics.
func (m *Machine) Catalog() *pcpserve.Catalog { return &m.catalog.Load().Catalog }

// Fetch returns the metrics in want; it reads again what is not recent enough.
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

// withInputs adds the inputs of formulas to want.
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

// Instances returns the present instances of an instance domain. Those of owners are only in what
// is computed from processes.
func (m *Machine) Instances(ctx context.Context, indom string) ([]*metric.Instance, error) {
	list, err := m.reader.Instances(ctx, indom)
	if err != nil || list != nil {
		return list, err
	}
	var of *formula
	for d, f := range m.catalog.Load().formulas {
		if d.Indom == indom && !f.Twice && (of == nil || d.Name < of.Desc.Name) {
			of = f
		}
	}
	if of == nil {
		return nil, nil
	}
	if b, _ := of.compute(m.reader.Read(ctx, of.Inputs)); b != nil {
		return b.Rows, nil
	}
	return nil, nil
}
