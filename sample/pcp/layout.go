package pcp

import (
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// Layout says where in PCP's name space metrics are, and in which domains. An agent
// answers for whole domains, and a domain has one agent: who lives beside PCP's agents
// cannot have theirs. The zero Layout is the plain one: the metrics' own names and
// numbers, as archives and those have them who answer for everything.
//
// The number of a name is the same in every run, on every machine and in every version.
type Layout struct {
	// Prefix is the name below which everything is that is not in a domain of Keep; it
	// is said without a dot.
	Prefix string
	// Domain is the one that all these have.
	Domain uint32
	// Keep are PCP's domains that stay as they are, with PCP's names.
	Keep []uint32
}

// Root is the name below which layouts put what PCP does not have.
const Root = "tachograph"

// Native is the layout of a machine on which PCP's Darwin agents do not run: what they
// have has their names and numbers, all else is below Root in a domain of its own.
func Native(domain uint32) Layout {
	return Layout{Prefix: Root, Domain: domain, Keep: []uint32{3, 78}}
}

// Beside is the layout of a machine on which PCP's own agents run: everything is below
// Root in one domain.
func Beside(domain uint32) Layout { return Layout{Prefix: Root, Domain: domain} }

// Plain reports whether metrics keep their names and numbers.
func (l Layout) Plain() bool { return l.Domain == 0 }

// Domains are those that a layout's metrics may have, its own first: one agent each.
// Of the plain layout there is no telling: nil.
func (l Layout) Domains() []uint32 {
	if l.Plain() {
		return nil
	}
	return append([]uint32{l.Domain}, l.Keep...)
}

// Where the clusters of PCP's domains are in a layout's own one. Each has the lower half
// of 1024 clusters; the upper halves are for what has no number but that of its name.
const (
	roomOf   = 1024
	halfRoom = roomOf / 2
)

var rooms = map[uint32]uint32{metric.OwnDomain: 0, 60: 1, 78: 2, 3: 3}

// keeps reports whether metrics of a domain stay where PCP's agents have them.
func (l *Layout) keeps(id metric.PMID) bool {
	domain, _, _ := id.Parts()
	return !l.Plain() && slices.Contains(l.Keep, domain)
}

// branches are names of metrics below which PCP's Darwin agents have others.
var branches = map[string]bool{"network.tcp.inerrs": true, "network.udp.inerrors": true}

// apart is the name of a metric that would be in the way of PCP's in a domain that is
// kept; ok is false for all others.
func (s *Space) apart(d *metric.Desc) (name string, ok bool) {
	if !branches[d.Name] || !s.layout.keeps(d.PMID) {
		return "", false
	}
	return s.layout.Prefix + "." + d.Name, true
}

// further reports whether d is a further name for a number that is kept: PCP's agents have
// some metrics under two names.
func (s *Space) further(d *metric.Desc, same sameness) bool {
	if !s.layout.keeps(d.PMID) {
		return false
	}
	same.name = ""
	first, there := s.kept[d.PMID]
	if !there {
		s.kept[d.PMID] = same
	}
	return there && first == same
}

// place puts a metric, which has its plain name and number, where the layout has it.
func (s *Space) place(m *Metric) {
	l := &s.layout
	if l.Plain() {
		return
	}
	domain, cluster, item := m.PMID.Parts()
	if l.keeps(m.PMID) {
		return
	}
	if m.Name != l.Prefix && !strings.HasPrefix(m.Name, l.Prefix+".") {
		m.Name = l.Prefix + "." + m.Name
	}
	room, known := rooms[domain]
	switch {
	case domain == metric.OwnDomain && cluster == Reserved:
		m.PMID = metric.NewPMID(l.Domain, Reserved, item)
	case known && cluster < halfRoom:
		m.PMID = metric.NewPMID(l.Domain, room*roomOf+cluster, item)
	default:
		n := uint32(m.PMID)
		if domain != Foreign {
			n = hash(m.PMID.String())
		}
		for m.PMID = l.upper(n); s.moved[m.PMID]; m.PMID = l.upper(n) {
			n++
		}
	}
	s.moved[m.PMID] = true
}

// upper is a number in the upper halves, made of 21 bits of n.
func (l *Layout) upper(n uint32) metric.PMID {
	item, cluster := n&0x3ff, n>>10&0x7ff
	cluster = cluster/halfRoom*roomOf + halfRoom + cluster%halfRoom
	if cluster == Reserved {
		cluster = halfRoom // the last one is not for metrics
	}
	return metric.NewPMID(l.Domain, cluster, item)
}
