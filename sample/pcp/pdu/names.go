package pdu

import (
	"tachograph/sample/metric"
)

// Names are names of metrics: a request for their numbers, or the answer to a request by number,
// to Children or to Traverse.
type Names struct {
	Names []string
	// Branches, if any, says for each name whether it has others below it.
	Branches []bool
}

func (*Names) Kind() Kind { return KindNames }

func (m *Names) append(dst []byte, _ int) []byte {
	size := 0
	for _, s := range m.Names {
		size += len(s) + 1
	}
	dst = appendU32(appendU32(dst, uint32(size)), uint32(len(m.Branches)))
	dst = appendU32(dst, uint32(len(m.Names)))
	for i, s := range m.Names {
		if m.Branches != nil {
			dst = appendU32(dst, branchWord(m.Branches[i]))
		}
		dst = appendText(dst, s)
	}
	return dst
}

func branchWord(is bool) uint32 {
	if is {
		return 1
	}
	return 0
}

func (m *Names) parse(p *parser) {
	size := int64(p.u32())
	statuses := p.u32()
	n := p.count(4)
	if statuses != 0 && int64(statuses) != int64(n) {
		p.fail("statuses of some of its names")
		return
	}
	if n == 0 {
		return
	}
	m.Names = make([]string, n)
	if statuses > 0 {
		m.Branches = make([]bool, n)
	}
	for i := range m.Names {
		if m.Branches != nil {
			m.Branches[i] = p.u32() != 0
		}
		m.Names[i] = p.text(p.u32())
		size -= int64(len(m.Names[i])) + 1
	}
	if size != 0 {
		p.fail("names of another length than it says")
	}
}

// IDs are numbers of metrics: a request for their names, or the answer to Names, in the same
// order. An unknown name has pcp.Null.
type IDs struct {
	Status int32
	PMIDs  []metric.PMID
}

func (*IDs) Kind() Kind { return KindIDs }

func (m *IDs) append(dst []byte, _ int) []byte {
	return appendPMIDs(appendU32(dst, uint32(m.Status)), m.PMIDs)
}

func (m *IDs) parse(p *parser) {
	m.Status = p.i32()
	m.PMIDs = p.pmids()
}

// Children asks for the names directly below a name, as their last parts only.
type Children struct {
	Name string
	// Statuses asks whether each of them has others below it.
	Statuses bool
}

func (*Children) Kind() Kind { return KindChildren }

func (m *Children) append(dst []byte, _ int) []byte {
	return appendText(appendU32(dst, branchWord(m.Statuses)), m.Name)
}

func (m *Children) parse(p *parser) {
	m.Statuses = p.u32() == 1
	m.Name = p.text(p.u32())
}

// Traverse asks for all metrics at and below a name.
type Traverse struct{ Name string }

func (*Traverse) Kind() Kind { return KindTraverse }

func (m *Traverse) append(dst []byte, _ int) []byte { return appendText(appendU32(dst, 0), m.Name) }

func (m *Traverse) parse(p *parser) {
	p.u32()
	m.Name = p.text(p.u32())
}

func appendPMIDs(dst []byte, list []metric.PMID) []byte {
	dst = appendU32(dst, uint32(len(list)))
	for _, id := range list {
		dst = appendU32(dst, uint32(id))
	}
	return dst
}

// pmids reads a count and as many metric numbers.
func (p *parser) pmids() []metric.PMID {
	n := p.count(4)
	if n == 0 {
		return nil
	}
	list := make([]metric.PMID, n)
	for i := range list {
		list[i] = metric.PMID(p.u32())
	}
	return list
}
