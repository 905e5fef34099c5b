package demand

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// now is the clock of a synctest bubble.
func now() metric.Stamp {
	n := time.Now().UnixNano()
	return metric.Stamp{Wall: n, Awake: n, Cont: n}
}

// machine is a source whose readings a test can watch and delay.
type machine struct {
	name   string
	groups []*metric.Group
	// takes is how long a reading takes. If hangs is not nil, a reading hangs until it is
	// closed.
	takes time.Duration
	hangs chan struct{}
	fails error
	again atomic.Bool // Look reports it
	next  []*metric.Group
	look  chan struct{} // if not nil, Look hangs until then

	mu     sync.Mutex
	reads  int
	wanted []string // in the last reading
	inside int
	most   int // most readings at one time
	closed bool
}

func newMachine(name string, ds ...*metric.Desc) *machine {
	byIndom := make(map[string]*metric.Group)
	m := &machine{name: name}
	for _, d := range ds {
		g := byIndom[d.Indom]
		if g == nil {
			g = &metric.Group{Name: name + d.Indom, Indom: d.Indom}
			byIndom[d.Indom] = g
			m.groups = append(m.groups, g)
		}
		g.Metrics = append(g.Metrics, d)
	}
	return m
}

func desc(name string, class metric.Class) *metric.Desc {
	return &metric.Desc{Name: name, Type: metric.U64, Class: class}
}

func diskDesc(name string, class metric.Class) *metric.Desc {
	return &metric.Desc{Name: name, Type: metric.U64, Class: class, Indom: "disk"}
}

func (m *machine) Name() string            { return m.name }
func (m *machine) Groups() []*metric.Group { return m.groups }
func (m *machine) Look() bool {
	if m.look != nil {
		<-m.look
	}
	return m.again.Load()
}

func (m *machine) Refresh() error {
	m.again.Store(false)
	m.groups = m.next
	return nil
}

func (m *machine) Close() error {
	m.closed = true
	return nil
}

func (m *machine) Read(c *sample.Context, frames []*sample.Frame) error {
	m.mu.Lock()
	m.reads++
	reads := m.reads
	m.inside++
	m.most = max(m.most, m.inside)
	m.wanted = m.wanted[:0]
	for _, f := range frames {
		for _, d := range f.Block().Group.Metrics {
			m.wanted = append(m.wanted, d.Name)
		}
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.inside--
		m.mu.Unlock()
	}()
	if m.takes > 0 {
		time.Sleep(m.takes)
	}
	if m.hangs != nil {
		<-m.hangs
	}
	if m.fails != nil {
		return m.fails
	}
	for _, f := range frames {
		f.Reset(c.Now())
		rows := []*metric.Instance{nil}
		if f.Full().Indom != metric.NoIndom {
			rows = []*metric.Instance{{Key: "sda", Name: "sda"}, {Key: "sdb", Name: "sdb"}}
		}
		for _, in := range rows {
			row := f.Row(in)
			for col := range f.Full().Metrics {
				f.SetUint(row, col, uint64(100*reads+col))
			}
		}
	}
	return nil
}

// did returns how often m was read, and which metrics were wanted the last time.
func (m *machine) did() (int, []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads, append([]string(nil), m.wanted...)
}

func open(t *testing.T, opt Options, ms ...*machine) *Reader {
	t.Helper()
	var sources []sample.Source
	for _, m := range ms {
		sources = append(sources, m)
	}
	opt.Now = now
	r := New(sources, opt)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// values returns the values of the first instance, and for missing ones the reasons.
func values(t *testing.T, r *Reading) map[string]string {
	t.Helper()
	got := make(map[string]string)
	for _, b := range r.Blocks {
		for col, d := range b.Group.Metrics {
			if _, twice := got[d.Name]; twice {
				t.Errorf("%s stands in two blocks", d.Name)
			}
			got[d.Name] = "no instance"
			if len(b.Rows) > 0 {
				v := b.Cols[col].At(d.Type, 0)
				if got[d.Name] = v.String(); v.Miss != metric.Present {
					got[d.Name] = v.Miss.String()
				}
			}
		}
	}
	for d, why := range r.Missing {
		if _, twice := got[d.Name]; twice {
			t.Errorf("%s stands in a block and is missing", d.Name)
		}
		got[d.Name] = why.String()
	}
	return got
}
