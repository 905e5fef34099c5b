package darwin

import (
	"math"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// sysctlSource supplies everything that one sysctl answers: the metrics that
// are computed from an answer, and the whole tree under its own names.
type sysctlSource struct {
	round uint64
	looks int // since the last Refresh
	nodes map[string]*node
	sets  []*sysctlSet
	tree  tree
}

// sysctlSet is a group and what feeds each of its columns.
type sysctlSet struct {
	group     *metric.Group
	instances []*metric.Instance // nil for the domain with one value
	feeds     []feed             // parallel to the group's metrics
}

type feed struct {
	from, less *node // nil where the kernel lacks the name
	value      func([]byte, int) (uint64, bool)
}

func newSysctlSource() *sysctlSource { return &sysctlSource{} }

func (s *sysctlSource) Name() string { return "sysctl" }

func (s *sysctlSource) Groups() []*metric.Group {
	gs := make([]*metric.Group, len(s.sets))
	for i, set := range s.sets {
		gs[i] = set.group
	}
	return gs
}

func (s *sysctlSource) Refresh() error {
	s.nodes, s.sets, s.looks = make(map[string]*node), nil, 0
	s.add("sysctl", nil, scalarColumns)
	for _, t := range domainTables {
		instances := make([]*metric.Instance, len(t.instances))
		for i, name := range t.instances {
			instances[i] = &metric.Instance{ID: uint64(i), Key: name, Name: name}
		}
		s.add(t.group, instances, t.columns)
	}
	s.sets = append(s.sets, s.tree.build(s))
	return nil
}

func (s *sysctlSource) Close() error { return nil }

// add makes a set of columns from the catalogue.
func (s *sysctlSource) add(group string, instances []*metric.Instance, columns []column) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.metric
	}
	set := &sysctlSet{group: catalog.Group(catalog.Darwin, group, names...), instances: instances}
	for i, c := range columns {
		f := feed{from: s.node(c.sysctl), value: c.value}
		lacks := ""
		if f.from == nil {
			lacks = c.sysctl
		}
		if c.less != "" {
			if f.less = s.node(c.less); f.less == nil {
				lacks = c.less
			}
		}
		d := set.group.Metrics[i]
		if lacks != "" && d.Unsupported == "" {
			d.Unsupported = "this kernel has no sysctl " + lacks
		}
		if c.value == nil && (f.from.wide() || f.less.wide()) {
			widen(d)
		}
		set.feeds = append(set.feeds, f)
	}
	s.sets = append(s.sets, set)
}

// widen gives a metric the room of the kernel's number, which has grown since
// the catalogue's row was written.
func widen(d *metric.Desc) {
	switch d.Type {
	case metric.I32:
		d.Type = metric.I64
	case metric.U32:
		d.Type = metric.U64
	}
}

// node resolves a name, once; nil if the kernel does not have it.
func (s *sysctlSource) node(name string) *node {
	if n, ok := s.nodes[name]; ok {
		return n
	}
	n := resolve(name)
	s.nodes[name] = n
	return n
}

func resolve(name string) *node {
	mib, err := sys.Lookup(name)
	if err != nil {
		return nil
	}
	// A name may resolve and still not be readable on this machine.
	if size, errno := sys.Sysctl(mib, nil); errno == 0 || reasonFor(errno) != metric.Unsupported {
		return newNode(name, mib, size)
	}
	return nil
}

func (s *sysctlSource) Read(c *sample.Context, frames []*sample.Frame) error {
	s.round++
	at := c.Now()
	for _, set := range s.sets {
		f := frameOf(frames, set.group)
		if f == nil {
			continue
		}
		f.Reset(at)
		if set.instances == nil {
			set.fill(f, f.Row(nil), 0, s.round)
			continue
		}
		for i, in := range set.instances {
			set.fill(f, f.Row(in), i, s.round)
		}
	}
	return nil
}

// badAnswer is why a value is absent whose sysctl answered in an unexpected
// length.
var badAnswer = metric.ReasonFor("the kernel's answer does not have the expected length")

// fill sets one row.
func (set *sysctlSet) fill(f *sample.Frame, row, instance int, round uint64) {
	for col := range set.feeds {
		if !f.Wants(col) {
			continue
		}
		from := &set.feeds[col]
		n := from.from
		if !n.read(round) {
			f.SetMissing(row, col, n.reason)
			continue
		}
		t := set.group.Metrics[col].Type
		if t == metric.String {
			f.SetString(row, col, n.string())
			continue
		}
		var v uint64
		var ok bool
		if from.value != nil {
			v, ok = from.value(n.answer, instance)
		} else {
			v, ok = decode.SysctlBits(n.answer, t)
		}
		if ok && from.less != nil {
			if !from.less.read(round) {
				f.SetMissing(row, col, from.less.reason)
				continue
			}
			var minus uint64
			minus, ok = decode.SysctlBits(from.less.answer, t)
			// Where a limit was lowered below what is in use nothing is left.
			v -= min(minus, v)
		}
		switch {
		case !ok:
			f.SetMissing(row, col, badAnswer)
		case t.Float():
			f.SetFloat(row, col, math.Float64frombits(v))
		default:
			f.SetUint(row, col, v)
		}
	}
}
