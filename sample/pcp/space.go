package pcp

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// Foreign is the domain of metrics with a number neither from PCP nor from us: those found on
// one machine only, and computed ones. Their numbers are computed from their names.
const Foreign = metric.OwnDomain + 1

// Reserved is a cluster of metric.OwnDomain without metrics. A program that transports metrics
// puts its own data there.
const Reserved = 1<<12 - 1

// Metric is a metric as PCP knows it.
type Metric struct {
	Name      string // fit for PCP's name space
	PMID      metric.PMID
	Type      Type
	InDom     uint32
	Semantics int32
	Units     uint32
	// Renamed says that Name differs from the metric's own name, apart from the layout's prefix.
	// Lossy says that the metric's units say more than Units can.
	Renamed, Lossy bool
	Desc           *metric.Desc
}

// Space gives metrics unique numbers and names. A metric always gets the same ones, whatever
// else is in the space, except when two metrics compete for the same.
type Space struct {
	layout  Layout
	linux   bool // metrics added now may be ones that PCP's Linux agents have
	metrics map[*metric.Desc]*Metric
	alike   map[sameness]*Metric
	pmids   map[metric.PMID]bool
	leaves  map[string]bool
	inner   map[string]bool // the parts of leaves before each dot
	indoms  map[uint32]string
	moved   map[metric.PMID]bool // numbers that the layout has assigned
	kept    map[metric.PMID]sameness
}

// NewSpace returns an empty space with the plain layout: metrics keep their names and numbers.
func NewSpace() *Space { return NewSpaceOf(Layout{}) }

// NewSpaceOf returns an empty space with the layout l.
func NewSpaceOf(l Layout) *Space {
	return &Space{
		layout: l, moved: make(map[metric.PMID]bool), kept: make(map[metric.PMID]sameness),
		metrics: make(map[*metric.Desc]*Metric), alike: make(map[sameness]*Metric), pmids: make(map[metric.PMID]bool),
		leaves: make(map[string]bool), inner: make(map[string]bool), indoms: make(map[uint32]string),
	}
}

// sameness is what two descriptions of one metric have in common. PCP does not let it change
// once it has seen it.
type sameness struct {
	name, indom string
	pmid        metric.PMID
	typ         metric.Type
	sem         metric.Semantics
	units       metric.Units
}

// Add returns d in the space. A metric whose type, semantics, units or instance domain has
// changed is another metric, with another name.
func (s *Space) Add(d *metric.Desc) *Metric {
	if m := s.metrics[d]; m != nil {
		return m
	}
	same := sameness{d.Name, d.Indom, d.PMID, d.Type, d.Sem, d.Units}
	of, named := s.native(d)
	taken := named && of.takes(d)
	if taken {
		same.pmid = of.pmid
	}
	if m := s.alike[same]; m != nil {
		s.metrics[d] = m
		return m
	}
	m := &Metric{Type: TypeOf(d.Type), Semantics: SemanticsOf(d.Sem), Desc: d}
	own, apart := s.apart(d)
	if named && !taken {
		own, apart = Root+"."+d.Name, true
	}
	if apart {
		m.Name = s.name(own)
		m.PMID = s.pmid(0, m.Name)
		m.Renamed = named
	} else {
		m.Name = s.name(d.Name)
		m.Renamed = m.Name != d.Name
		if !s.further(d, same) {
			m.PMID = s.pmid(same.pmid, m.Name)
		} else {
			m.PMID = d.PMID
		}
	}
	s.place(m)
	domain, _, _ := m.PMID.Parts()
	m.InDom = s.InDom(domain, d.Indom)
	var whole bool
	m.Units, whole = UnitsOf(d.Units)
	if taken && m.PMID == of.pmid {
		whole = whole && m.Units == of.units
		m.Type, m.Semantics, m.Units = of.typ, of.semantics, of.units
	}
	m.Lossy = !whole
	s.metrics[d], s.alike[same] = m, m
	return m
}

// Forget drops a description that is no longer used. Its name and number stay reserved for the
// metric, in case it comes back.
func (s *Space) Forget(d *metric.Desc) { delete(s.metrics, d) }

func (s *Space) pmid(id metric.PMID, name string) metric.PMID {
	if domain, _, _ := id.Parts(); domain == 0 || domain > 510 || id != id&0x7fffffff || s.pmids[id] {
		id = NumberOf(name)
		for s.pmids[id] {
			id = next(id)
		}
	}
	s.pmids[id] = true
	return id
}

// NumberOf computes a metric's number from its name.
func NumberOf(name string) metric.PMID {
	return metric.PMID(Foreign<<22 | hash(name)&0x3fffff)
}

func next(id metric.PMID) metric.PMID {
	return metric.PMID(Foreign<<22 | (uint32(id)+1)&0x3fffff)
}

// hash is FNV-1a, which never changes.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// name makes a name valid for PCP: parts of letters, digits and underscores that begin with a
// letter, and no metric below another.
func (s *Space) name(own string) string {
	parts := strings.Split(own, ".")
	for i, p := range parts {
		parts[i] = part(p)
	}
	name := parts[0]
	for _, p := range parts[1:] {
		if s.leaves[name] {
			name += "_" + p
		} else {
			name += "." + p
		}
	}
	for s.leaves[name] || s.inner[name] {
		name += "_"
	}
	s.leaves[name] = true
	for i := range len(name) {
		if name[i] == '.' {
			s.inner[name[:i]] = true
		}
	}
	return name
}

func part(p string) string {
	b := []byte(p)
	for i, c := range b {
		if !letter(c) && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	if len(b) == 0 || !letter(b[0]) || b[0] == '_' {
		return "x" + string(b)
	}
	return string(b)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// Serial numbers of instance domains. A domain that PCP's agents have gets their number.
var serials = map[uint32]map[string]uint32{
	3:   {"process": 9},
	60:  {"cpu": 0, "disk": 1, "load": 2, "interface": 3, "filesys": 5, "nfs3 op": 8, "pressure": 37},
	154: {"connection": 0},
	78:  {"load": 0, "filesys": 1, "disk": 2, "cpu": 3, "interface": 4},
}

// InDom returns the number of the instance domain called name, for metrics of a PCP domain: each
// instance domain belongs to one PCP domain.
func (s *Space) InDom(domain uint32, name string) uint32 {
	if name == metric.NoIndom {
		return Null
	}
	serial, ok := serials[domain][name]
	if !ok {
		serial = 1<<12 + hash(name)&0xfffff
	}
	id := domain<<22 | serial
	for have, taken := s.indoms[id]; taken && have != name; have, taken = s.indoms[id] {
		serial = serial&0xfffff + 1<<12 + 1
		id = domain<<22 | serial
	}
	s.indoms[id] = name
	return id
}

// IndomName is this program's name for an instance domain of PCP's; ok is false if no known
// agent has it.
func IndomName(indom uint32) (name string, ok bool) {
	for name, serial := range serials[indom>>22&0x1ff] {
		if serial == indom&0x3fffff {
			return name, true
		}
	}
	return "", false
}

// InDomString prints the number of an instance domain as PCP does.
func InDomString(indom uint32) string {
	if indom == Null {
		return "PM_INDOM_NULL"
	}
	return strconv.FormatUint(uint64(indom>>22&0x1ff), 10) + "." + strconv.FormatUint(uint64(indom&0x3fffff), 10)
}
