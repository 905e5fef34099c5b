package darwin

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// tree is the part of the source that follows the kernel's own list of names.
type tree struct {
	// moved holds the names whose values were seen to change. They are therefore read as often as
	// polled metrics.
	moved map[string]bool
	group *metric.Group
	feeds []feed // parallel to the group's metrics
	// shape is a checksum of the numbers that the walk found; lacking are the names of the
	// catalog that the kernel did not have.
	shape   uint64
	lacking []string
}

// feed is the source of a metric of the tree.
type feed struct {
	from *node // nil where the kernel lacks the name
	time bool  // the answer is a struct timeval
}

// leaf is a name that the walk found.
type leaf struct {
	name   string
	mib    sys.MIB
	kind   decode.Kind
	format string
	size   int
	// refused says that the kernel does not let this user read it.
	refused bool
}

// build walks the tree and describes what it finds. Names in the catalog keep their row; others
// are described by the kernel's own information about them.
func (t *tree) build(s *sysctlSource) {
	t.rememberMoves()
	t.group, t.feeds = &metric.Group{Name: "sysctl tree"}, nil
	seen := make(map[string]bool)
	for _, set := range s.sets {
		for _, d := range set.Group.Metrics {
			seen[d.Name] = true
		}
	}
	add := func(l leaf) {
		if seen[l.name] {
			return
		}
		seen[l.name] = true
		d, time := t.describe(&l)
		f := feed{time: time}
		if d.Unsupported == "" {
			if s.nodes[l.name] == nil {
				s.nodes[l.name] = newNode(l.name, l.mib, l.size)
			}
			f.from = s.nodes[l.name]
			// Where the catalog has a name's class, a change of the value makes no difference.
			f.from.watch = d.Class == metric.Constrained && catalog.Find(catalog.Darwin, l.name) == nil
		}
		t.group.Metrics = append(t.group.Metrics, d)
		t.feeds = append(t.feeds, f)
	}
	t.lacking = nil
	t.shape = walk(func(mib sys.MIB) {
		if l, ok := inspect(mib); ok {
			add(l)
		}
	})
	for _, name := range hiddenSysctls {
		if l, ok := lookUp(name); ok {
			add(l)
		}
	}
	for _, d := range catalog.For(catalog.Darwin) {
		if !ownName(d) || seen[d.Name] {
			continue
		}
		if l, ok := lookUp(d.Name); ok {
			add(l)
			continue
		}
		if d.Unsupported == "" {
			d.Unsupported = "this kernel has no sysctl " + d.Name
			t.lacking = append(t.lacking, d.Name)
		}
		t.group.Metrics = append(t.group.Metrics, d)
		t.feeds = append(t.feeds, feed{})
	}
}

// fill sets the only row.
func (t *tree) fill(f *sample.Frame, row int, round uint64) {
	for col := range t.feeds {
		if f.Wants(col) {
			t.feeds[col].show(f, row, col, round)
		}
	}
}

// show sets a cell to the answer.
func (x *feed) show(f *sample.Frame, row, col int, round uint64) {
	n, t := x.from, f.Full().Metrics[col].Type
	switch {
	case !n.read(round):
		f.SetMissing(row, col, n.reason)
	case t == metric.String:
		f.SetString(row, col, n.string())
	case x.time:
		if us, ok := decode.Micros(n.answer); ok {
			f.SetUint(row, col, us)
		} else {
			f.SetMissing(row, col, badAnswer)
		}
	default:
		if v, ok := decode.SysctlBits(n.answer, t); ok {
			f.SetUint(row, col, v)
		} else {
			f.SetMissing(row, col, badAnswer)
		}
	}
}

// rememberMoves records the names whose values have changed since the last walk.
func (t *tree) rememberMoves() {
	if t.moved == nil {
		t.moved = make(map[string]bool)
	}
	for _, f := range t.feeds {
		if f.from != nil && f.from.moved {
			t.moved[f.from.name] = true
		}
	}
}

// Restless reports whether the value of a name that is read rarely has changed, so that Refresh
// would put it into a faster class.
func (s *sysctlSource) Restless() bool {
	for _, f := range s.tree.feeds {
		if f.from != nil && f.from.moved {
			return true
		}
	}
	return false
}

// describe makes the metric of a leaf.
func (t *tree) describe(l *leaf) (d *metric.Desc, time bool) {
	known := catalog.Find(catalog.Darwin, l.name)
	typ, plain := l.kind.Type(l.format, l.size)
	units := metric.NoUnits
	if time = l.format == "S,timeval"; time {
		typ, plain, units = metric.U64, true, metric.Microseconds
	}
	if known != nil && plain && !l.refused {
		// The kernel may have widened the value since the row was written.
		if l.size == 8 {
			widen(known)
		}
		return known, time
	}
	if d = known; d == nil {
		d = &metric.Desc{
			Name: l.name, Type: typ, Sem: metric.Instant, Units: units, Class: metric.Constrained,
			Source:   "sysctl " + l.name,
			Help:     "kernel variable " + l.name,
			LongHelp: "Described by what the kernel says of it: format " + l.format + ".",
		}
		if typ == metric.String || l.kind.Writable() {
			d.Sem = metric.Discrete
		}
		if t.moved[l.name] {
			d.Class = metric.Polled
		}
	}
	switch why := omitted(l.name); {
	case l.refused:
		d.Unsupported = "the kernel refuses it to this user"
	case why != "" && known == nil:
		d.Unsupported = "left out: " + why
	case !plain:
		d.Unsupported = "left out: a structure, not one value (format " + l.format + ")"
	case typ == metric.String && l.size > longestText:
		d.Unsupported = "left out: a text of more than a thousand characters"
	}
	return d, time
}

// The queries about the tree itself: {0,1} gives the name of a number, {0,2} the next number,
// {0,4} the format.
const (
	askName   = 1
	askNext   = 2
	askFormat = 4
)

// has reports whether the kernel now has a name that it lacked.
func (t *tree) has() bool {
	return slices.ContainsFunc(t.lacking, func(name string) bool {
		_, ok := lookUp(name)
		return ok
	})
}

// walk visits every leaf in the order of the numbers and returns a checksum of the numbers.
func walk(visit func(sys.MIB)) uint64 {
	var next [64]byte
	mib := sys.MIB{0, askNext, 1}
	met := fnv.New64a()
	for {
		n, errno := sys.Sysctl(mib, next[:])
		if errno != 0 || n < 4 || n%4 != 0 {
			return met.Sum64()
		}
		met.Write(next[:n])
		found := make(sys.MIB, n/4)
		for i := range found {
			found[i] = int32(binary.LittleEndian.Uint32(next[4*i:]))
		}
		if slices.Compare(found, mib[2:]) <= 0 {
			// Without this, a kernel that goes backwards would keep us here for ever.
			return met.Sum64()
		}
		mib = append(mib[:2], found...)
		visit(found)
	}
}

// lookUp describes a name that the walk does not show.
func lookUp(name string) (leaf, bool) {
	mib, err := sys.Lookup(name)
	if err != nil {
		return leaf{}, false
	}
	l, ok := inspect(mib)
	l.name = name
	return l, ok
}

// inspect reads a leaf's name, format and size; false if there is nothing to read.
func inspect(mib sys.MIB) (leaf, bool) {
	var b [512]byte
	l := leaf{mib: mib}
	n, errno := sys.Sysctl(append(sys.MIB{0, askName}, mib...), b[:])
	if errno != 0 || n < 2 {
		return l, false
	}
	l.name = string(b[:n-1])
	if n, errno = sys.Sysctl(append(sys.MIB{0, askFormat}, mib...), b[:]); errno != 0 {
		return l, false
	}
	kind, format, ok := decode.SysctlFormat(b[:n])
	if !ok || kind.Node() {
		return l, false
	}
	l.kind, l.format = kind, string(format)
	if l.size, errno = sys.Sysctl(mib, nil); errno == 0 {
		return l, true
	}
	l.refused = errno == syscall.EPERM || errno == syscall.EACCES
	return l, l.refused
}
