package pdu

import (
	"strings"
)

// Error is the answer to a failed request, or to one that needs no more than a number: zero is
// success. Unasked, it reports that a context has ended, that an agent is ready, or, with a code
// above zero, that something has changed.
type Error struct{ Code int32 }

func (*Error) Kind() Kind { return KindError }

func (m *Error) append(dst []byte, _ int) []byte { return appendU32(dst, uint32(m.Code)) }

func (m *Error) parse(p *parser) { m.Code = p.i32() }

const greetingSize = HeaderSize + 8

// Greeting is pmcd's first message to a client.
type Greeting struct {
	Code     int32
	Version  uint8
	Features Features
}

func (*Greeting) Kind() Kind { return KindError }

func (m *Greeting) append(dst []byte, _ int) []byte {
	// The 1 in the byte between them says that the server may be used.
	return appendU32(appendU32(dst, uint32(m.Code)), uint32(m.Version&0x7f)<<24|1<<16|uint32(m.Features))
}

func (m *Greeting) parse(p *parser) {
	m.Code = p.i32()
	v := p.u32()
	m.Version, m.Features = uint8(v>>24&0x7f), Features(v)
}

// Creds is an agent's first message and pmcd's answer, and a client's answer to the greeting.
// Its sender is the process.
type Creds struct {
	Version  uint8
	Features Features
}

const (
	credVersion = 1
	maxCreds    = 32
)

func (*Creds) Kind() Kind { return KindCreds }

func (m *Creds) append(dst []byte, _ int) []byte {
	return appendU32(appendU32(dst, 1), credVersion<<24|uint32(m.Version)<<16|uint32(m.Features))
}

func (m *Creds) parse(p *parser) {
	n := p.count(4)
	if p.bad == "" && (n == 0 || n > maxCreds) {
		p.fail("a number of credentials that cannot be")
	}
	for _, c := range p.words(n) {
		if c>>24 == credVersion {
			m.Version, m.Features = uint8(c>>16), Features(c)
		}
	}
}

// Attr gives an agent an attribute of a client. The message's sender is the client's context.
type Attr struct {
	Attribute uint32
	Value     string
}

func (*Attr) Kind() Kind { return KindAttr }

func (m *Attr) append(dst []byte, _ int) []byte {
	return append(append(appendU32(dst, m.Attribute), m.Value...), 0)
}

func (m *Attr) parse(p *parser) {
	m.Attribute = p.u32()
	m.Value, _, _ = strings.Cut(string(p.take(p.left())), "\x00")
}

// A Profile selects instances.
type Profile struct {
	Context int32
	Choice
	InDoms []InDomProfile
}

// InDomProfile selects instances of one domain.
type InDomProfile struct {
	InDom uint32
	Choice
	Instances []uint32 // the exceptions
}

// A Choice includes or excludes everything that is not listed.
type Choice struct{ Exclude bool }

func (c Choice) word() uint32 {
	if c.Exclude {
		return 1
	}
	return 0
}

func (c *Choice) parse(p *parser) {
	v := p.u32()
	if v > 1 {
		p.fail("a state that is neither in nor out")
	}
	c.Exclude = v == 1
}

func (*Profile) Kind() Kind { return KindProfile }

func (m *Profile) append(dst []byte, _ int) []byte {
	dst = appendU32(appendU32(dst, uint32(m.Context)), m.word())
	dst = appendU32(appendU32(dst, uint32(len(m.InDoms))), 0)
	for i := range m.InDoms {
		d := &m.InDoms[i]
		dst = appendU32(appendU32(dst, d.InDom), d.word())
		dst = appendU32(appendU32(dst, uint32(len(d.Instances))), 0)
	}
	for i := range m.InDoms {
		dst = appendWords(dst, m.InDoms[i].Instances)
	}
	return dst
}

func (m *Profile) parse(p *parser) {
	m.Context = p.i32()
	m.Choice.parse(p)
	n := p.u32()
	p.u32()
	if int64(n)*16 > int64(p.left()) {
		p.fail("more announced than it has")
		return
	}
	if n == 0 {
		return
	}
	m.InDoms = make([]InDomProfile, n)
	counts := make([]uint32, n)
	for i := range m.InDoms {
		d := &m.InDoms[i]
		d.InDom = p.u32()
		d.Choice.parse(p)
		counts[i] = p.u32()
		p.u32()
	}
	for i := range m.InDoms {
		if int64(counts[i])*4 > int64(p.left()) {
			p.fail("more announced than it has")
			return
		}
		m.InDoms[i].Instances = p.words(int(counts[i]))
	}
}

func appendWords(dst []byte, list []uint32) []byte {
	for _, v := range list {
		dst = appendU32(dst, v)
	}
	return dst
}
