package pcp

import (
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// Layout says where in PCP's name space metrics are, and in which domains. An agent answers for
// whole domains, and a domain has one agent, so a program that runs beside PCP's agents cannot
// use their domains. In the zero Layout, the plain one, metrics have their own names and
// numbers. Archives use it, and programs that answer for all domains.
//
// The number of a name is the same in every run, on every machine and in every version.
type Layout struct {
	// Prefix is the name, without a dot at its end, below which all metrics are that are not in a
	// domain of Keep.
	Prefix string
	// Domain is the domain of all these metrics.
	Domain uint32
	// Keep lists the PCP domains that keep their numbers and PCP's names.
	Keep []uint32
}

// Root is the name below which layouts put metrics that PCP lacks.
const Root = "tachograph"

// Native is the layout of a machine on which PCP's Darwin agents do not run: their metrics have
// their names and numbers, all others are below Root in a separate domain.
func Native(domain uint32) Layout {
	return Layout{Prefix: Root, Domain: domain, Keep: []uint32{3, 78}}
}

// Beside is the layout of a machine on which PCP's own agents run: everything is below
// Root in one domain.
func Beside(domain uint32) Layout { return Layout{Prefix: Root, Domain: domain} }

// Plain reports whether metrics keep their names and numbers.
func (l Layout) Plain() bool { return l.Domain == 0 }

// Domains lists the domains that a layout's metrics may have, l.Domain first: one agent each.
// For the plain layout, whose metrics may have any domain, it is nil.
func (l Layout) Domains() []uint32 {
	if l.Plain() {
		return nil
	}
	return append([]uint32{l.Domain}, l.Keep...)
}

// The layout's domain has four ranges of 1024 clusters. The lower halves are for the clusters of
// PCP's domains and ours, at places given by rooms. The upper halves are for metrics without a
// number, which get one from their name.
const (
	roomOf   = 1024
	halfRoom = roomOf / 2
)

// rooms has the first of a domain's clusters, and how many there are.
var rooms = map[uint32]struct{ first, size uint32 }{
	metric.OwnDomain: {0, halfRoom - 64}, 154: {halfRoom - 64, 64}, 60: {roomOf, halfRoom}, 78: {2 * roomOf, halfRoom}, 3: {3 * roomOf, halfRoom},
}

// keeps reports whether the metrics of a domain keep the place that PCP's agents give them.
func (l *Layout) keeps(id metric.PMID) bool {
	domain, _, _ := id.Parts()
	return !l.Plain() && slices.Contains(l.Keep, domain)
}

// branches lists metrics whose names are branches with other metrics in PCP's Darwin agents.
var branches = map[string]bool{"network.tcp.inerrs": true, "network.udp.inerrors": true}

// apart returns another name for a metric whose own name would conflict with PCP's in a kept
// domain; ok is false for all others.
func (s *Space) apart(d *metric.Desc) (name string, ok bool) {
	if !branches[d.Name] || !s.layout.keeps(d.PMID) {
		return "", false
	}
	return s.layout.Prefix + "." + d.Name, true
}

// further reports whether d is another name for a number that is kept: PCP's agents have some
// metrics under two names.
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

// place moves a metric from its plain name and number to those of the layout.
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
	room := rooms[domain] // none of an unknown domain
	switch {
	case domain == metric.OwnDomain && cluster == Reserved:
		m.PMID = metric.NewPMID(l.Domain, Reserved, item)
	case cluster < room.size:
		m.PMID = metric.NewPMID(l.Domain, room.first+cluster, item)
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

// upper returns a number in the upper halves, made of 21 bits of n.
func (l *Layout) upper(n uint32) metric.PMID {
	item, cluster := n&0x3ff, n>>10&0x7ff
	cluster = cluster/halfRoom*roomOf + halfRoom + cluster%halfRoom
	if cluster == Reserved {
		cluster = halfRoom // cluster Reserved is not for metrics
	}
	return metric.NewPMID(l.Domain, cluster, item)
}
