package darwin

import (
	"runtime"
	"strings"

	"tachograph/sample"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// sysctlSource supplies everything that a single sysctl answers: metrics computed from an
// answer, and the whole tree under its own names.
type sysctlSource struct {
	round uint64
	looks int // since the last Refresh
	nodes map[string]*node
	sets  []*sysctlSet
	tree  tree
}

// sysctlSet is a table, with the sysctl behind each of its leaves.
type sysctlSet struct {
	*rows.Table
	instances []*metric.Instance // nil for metrics without instances
	leaves    []sysctlLeaf
	nodes     []*node // of the leaves; nil where the kernel lacks the name
	texts     []textColumn
	round     uint64
}

// textColumn is a metric whose value is the whole answer as text.
type textColumn struct {
	feed
	col int
}

func newSysctlSource() *sysctlSource { return &sysctlSource{} }

func (s *sysctlSource) Name() string { return "sysctl" }

func (s *sysctlSource) Groups() []*metric.Group {
	gs := make([]*metric.Group, 0, len(s.sets)+1)
	for _, set := range s.sets {
		gs = append(gs, set.Group)
	}
	return append(gs, s.tree.group)
}

func (s *sysctlSource) Refresh() error {
	s.nodes, s.sets, s.looks = make(map[string]*node), nil, 0
	s.add(scalarRows(), nil)
	for _, d := range domains {
		instances := make([]*metric.Instance, len(d.instances))
		for i, name := range d.instances {
			instances[i] = &metric.Instance{ID: uint64(i), Key: name, Name: name}
		}
		s.add(d.rows(), instances)
	}
	s.tree.build(s)
	return nil
}

func (s *sysctlSource) Close() error { return nil }

// add makes a set from a table.
func (s *sysctlSource) add(t *rows.Table, instances []*metric.Instance) {
	set := &sysctlSet{Table: t, instances: instances, leaves: sysctlLeaves(t, runtime.GOARCH)}
	for i, l := range set.leaves {
		n := s.node(l.name)
		set.nodes = append(set.nodes, n)
		if n == nil {
			t.Lack("this kernel has no sysctl "+l.name, func(x *rows.Leaf) bool { return x == &t.Leaves[i] })
		}
	}
	for col, d := range t.Group.Metrics {
		// A number that is scaled down fits, even if the kernel's is wide.
		scaled := strings.Contains(d.Source, " / ")
		for _, i := range t.LeavesOf(col) {
			switch n := set.nodes[i]; {
			case d.Type == metric.String:
				set.texts = append(set.texts, textColumn{feed{from: n}, col})
			case t.Leaves[i].Question == "" && n.wide() && !scaled:
				widen(d)
			}
		}
	}
	s.sets = append(s.sets, set)
}

// widen makes a metric's type as wide as the kernel's number, which has grown since the
// catalog's row was written.
func widen(d *metric.Desc) {
	switch d.Type {
	case metric.I32:
		d.Type = metric.I64
	case metric.U32:
		d.Type = metric.U64
	}
}

// node resolves a name, once; it returns nil if the kernel does not have the name.
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
		f := frameOf(frames, set.Group)
		if f == nil {
			continue
		}
		f.Reset(at)
		set.round = s.round
		if set.instances == nil {
			row := f.Row(nil)
			set.Fill(f, row, 0, set)
			for _, x := range set.texts {
				if f.Wants(x.col) {
					x.show(f, row, x.col, s.round)
				}
			}
			continue
		}
		for i, in := range set.instances {
			set.Fill(f, f.Row(in), i, set)
		}
	}
	if f := frameOf(frames, s.tree.group); f != nil {
		f.Reset(at)
		s.tree.fill(f, f.Row(nil), s.round)
	}
	return nil
}

// Leaf reads a leaf's sysctl, once a round.
func (set *sysctlSet) Leaf(i int) rows.Value {
	n := set.nodes[i]
	if !n.read(set.round) {
		return rows.Value{Miss: n.reason}
	}
	return set.leaves[i].value(n.answer)
}
