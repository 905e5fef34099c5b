package pdu

import (
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// DescReq asks for a metric's descriptor.
type DescReq struct{ PMID metric.PMID }

func (*DescReq) Kind() Kind { return KindDescReq }

func (m *DescReq) append(dst []byte, _ int) []byte { return appendU32(dst, uint32(m.PMID)) }

func (m *DescReq) parse(p *parser) { m.PMID = metric.PMID(p.u32()) }

// Desc is a metric's descriptor.
type Desc struct {
	PMID      metric.PMID
	Type      pcp.Type
	InDom     uint32
	Semantics int32
	Units     uint32
}

const descSize = 20

func (*Desc) Kind() Kind { return KindDesc }

func (m *Desc) append(dst []byte, _ int) []byte {
	dst = appendU32(appendU32(dst, uint32(m.PMID)), uint32(m.Type))
	return appendU32(appendU32(appendU32(dst, m.InDom), uint32(m.Semantics)), m.Units)
}

func (m *Desc) parse(p *parser) {
	m.PMID, m.Type = metric.PMID(p.u32()), pcp.Type(p.i32())
	m.InDom, m.Semantics, m.Units = p.u32(), p.i32(), p.u32()
}

// DescIDs asks for the descriptors of many metrics.
type DescIDs struct{ PMIDs []metric.PMID }

func (*DescIDs) Kind() Kind { return KindDescIDs }

func (m *DescIDs) append(dst []byte, _ int) []byte {
	return appendPMIDs(appendU32(dst, pcp.Null), m.PMIDs)
}

func (m *DescIDs) parse(p *parser) {
	p.u32()
	m.PMIDs = p.pmids()
}

// Descs answers DescIDs, in the same order. An unknown metric has no number.
type Descs struct{ List []Desc }

func (*Descs) Kind() Kind { return KindDescs }

func (m *Descs) append(dst []byte, start int) []byte {
	dst = appendU32(dst, uint32(len(m.List)))
	for i := range m.List {
		dst = m.List[i].append(dst, start)
	}
	return dst
}

func (m *Descs) parse(p *parser) {
	m.List = make([]Desc, p.count(descSize))
	for i := range m.List {
		m.List[i].parse(p)
	}
}

// InstanceReq asks for all instances of a domain, or, with a number or a name, for one of them.
type InstanceReq struct {
	InDom    uint32
	Instance uint32 // pcp.Null for all, or with a name
	Name     string
}

func (*InstanceReq) Kind() Kind { return KindInstanceReq }

func (m *InstanceReq) append(dst []byte, _ int) []byte {
	dst = append(appendU32(dst, m.InDom), 0, 0, 0, 0, 0, 0, 0, 0)
	return appendText(appendU32(dst, m.Instance), m.Name)
}

func (m *InstanceReq) parse(p *parser) {
	m.InDom = p.u32()
	p.u64() // an obsolete time
	m.Instance = p.u32()
	m.Name = p.text(p.u32())
}

// Instances lists the instances of a domain. The answer to a request by number gives that
// instance's name, and to a request by name its number; PCP expects the other half to be left
// out then (pcp.Null, or no name), but accepts it.
type Instances struct {
	InDom uint32
	List  []Instance
}

// Instance is one instance of a domain.
type Instance struct {
	ID   uint32
	Name string
}

func (*Instances) Kind() Kind { return KindInstances }

func (m *Instances) append(dst []byte, _ int) []byte {
	dst = appendU32(appendU32(dst, m.InDom), uint32(len(m.List)))
	for i := range m.List {
		dst = appendText(appendU32(dst, m.List[i].ID), m.List[i].Name)
	}
	return dst
}

func (m *Instances) parse(p *parser) {
	m.InDom = p.u32()
	m.List = make([]Instance, p.count(8))
	for i := range m.List {
		m.List[i].ID = p.u32()
		m.List[i].Name = p.text(p.u32())
	}
}

// TextReq asks for a help text. Type combines Text constants.
type TextReq struct {
	Ident uint32
	Type  uint32
}

func (*TextReq) Kind() Kind { return KindTextReq }

func (m *TextReq) append(dst []byte, _ int) []byte { return appendU32(appendU32(dst, m.Ident), m.Type) }

func (m *TextReq) parse(p *parser) { m.Ident, m.Type = p.u32(), p.u32() }

// Text is the help text for Ident.
type Text struct {
	Ident uint32
	Text  string
}

func (*Text) Kind() Kind { return KindText }

func (m *Text) append(dst []byte, _ int) []byte { return appendText(appendU32(dst, m.Ident), m.Text) }

func (m *Text) parse(p *parser) {
	m.Ident = p.u32()
	m.Text = p.text(p.u32())
}
