package pdu

import (
	"encoding/binary"

	"tachograph/sample/pcp"
)

// LabelReq asks for labels. Type is one of pcp's Label constants. Ident is what they belong to:
// the number of a domain, of any metric of a cluster, of a metric, or of an instance domain for
// its labels and for those of its instances.
type LabelReq struct {
	Ident uint32
	Type  uint32
}

func (*LabelReq) Kind() Kind { return KindLabelReq }

func (m *LabelReq) append(dst []byte, _ int) []byte {
	return appendU32(appendU32(dst, m.Ident), m.Type)
}

func (m *LabelReq) parse(p *parser) { m.Ident, m.Type = p.u32(), p.u32() }

// Labels answers LabelReq, with the same Ident and Type: one set, or one for each instance that
// has labels, or none.
type Labels struct {
	Ident uint32
	Type  uint32
	Sets  []LabelSet
}

// A LabelSet is the labels of one object.
type LabelSet struct {
	Instance uint32 // pcp.Null if the object is no instance
	JSON     string
	Refs     []pcp.LabelRef
	// Err is why there are no labels.
	Err int32
}

const (
	labelSetSize = 16
	labelRefSize = 8
)

func (*Labels) Kind() Kind { return KindLabels }

func (m *Labels) append(dst []byte, start int) []byte {
	dst = appendU32(appendU32(dst, m.Ident), m.Type)
	dst = appendU32(appendU32(dst, 0), uint32(len(m.Sets)))
	json := len(dst) - start
	for i := range m.Sets {
		json += labelSetSize + labelRefSize*len(m.Sets[i].Refs)
	}
	for i := range m.Sets {
		s := &m.Sets[i]
		n := int32(len(s.Refs))
		if s.Err < 0 {
			n = s.Err
		}
		dst = appendU32(appendU32(dst, s.Instance), uint32(n))
		dst = appendU32(appendU32(dst, uint32(json)), uint32(len(s.JSON)))
		json += len(s.JSON)
		for _, r := range s.Refs {
			dst = appendRef(dst, r)
		}
	}
	for i := range m.Sets {
		dst = append(dst, m.Sets[i].JSON...)
	}
	return dst
}

func appendRef(dst []byte, r pcp.LabelRef) []byte {
	dst = binary.BigEndian.AppendUint16(dst, r.Name)
	dst = append(dst, r.NameLen, r.Flags)
	dst = binary.BigEndian.AppendUint16(dst, r.Value)
	return binary.BigEndian.AppendUint16(dst, r.ValueLen)
}

func (m *Labels) parse(p *parser) {
	m.Ident, m.Type = p.u32(), p.u32()
	p.u32()
	n := p.count(labelSetSize)
	if n == 0 {
		return
	}
	m.Sets = make([]LabelSet, n)
	type span struct{ at, n int64 }
	texts := make([]span, n)
	for i := range m.Sets {
		s := &m.Sets[i]
		s.Instance = p.u32()
		refs := p.i32()
		texts[i] = span{int64(p.u32()), int64(p.u32())}
		if s.Err = min(refs, 0); refs > pcp.MaxLabels || int64(refs)*labelRefSize > int64(p.left()) {
			p.fail("more labels announced than it has")
			return
		}
		for range max(refs, 0) {
			b := p.take(labelRefSize)
			s.Refs = append(s.Refs, pcp.LabelRef{
				Name: binary.BigEndian.Uint16(b), NameLen: b[2], Flags: b[3],
				Value: binary.BigEndian.Uint16(b[4:]), ValueLen: binary.BigEndian.Uint16(b[6:]),
			})
		}
	}
	// The texts must follow one another, in the order of the sets. If sets could share a text, a
	// short message could expand to many times its length.
	for i := range m.Sets {
		if p.bad != "" {
			return
		}
		s, t := &m.Sets[i], texts[i]
		if t.n == 0 && len(s.Refs) == 0 {
			continue
		}
		if t.at != int64(p.at) || t.n > min(int64(p.left()), pcp.MaxLabelJSON) {
			p.fail("labels that are not where it says")
			return
		}
		s.JSON = string(p.take(int(t.n)))
		for _, r := range s.Refs {
			if int(r.Name)+int(r.NameLen) > len(s.JSON) || int(r.Value)+int(r.ValueLen) > len(s.JSON) {
				p.fail("a label that is not where it says")
				return
			}
		}
	}
	if n := p.left(); n < 4 {
		p.take(n) // padding
	}
}
