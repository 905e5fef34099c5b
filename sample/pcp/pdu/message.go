package pdu

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the length of every message's header.
const HeaderSize = 12

// A Message is a pointer to one of the structs of this package.
type Message interface {
	Kind() Kind
	// append appends what follows the header; the message begins at dst[start].
	append(dst []byte, start int) []byte
	// parse reads what follows the header.
	parse(p *parser)
}

// Append appends the encoded message m to dst.
func Append(dst []byte, from int32, m Message) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.Kind()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(from))
	dst = m.append(dst, start)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// Parse decodes b, which must be exactly one message with its header.
func Parse(b []byte) (from int32, m Message, err error) {
	if len(b) < HeaderSize || int64(binary.BigEndian.Uint32(b)) != int64(len(b)) {
		return 0, nil, &Malformed{What: "a length that is not its own"}
	}
	kind := Kind(binary.BigEndian.Uint32(b[4:]))
	from = int32(binary.BigEndian.Uint32(b[8:]))
	m = blank(kind, len(b))
	if m == nil {
		return from, nil, &Malformed{Kind: kind, What: "a kind that is not known"}
	}
	p := &parser{b: b, at: HeaderSize}
	m.parse(p)
	if p.bad == "" && p.at != len(b) {
		p.bad = "bytes behind its end"
	}
	if p.bad != "" {
		return from, nil, &Malformed{Kind: kind, What: p.bad}
	}
	return from, m, nil
}

// blank returns an empty message for a kind and length; nil for an unknown kind.
func blank(kind Kind, size int) Message {
	switch kind {
	case KindError:
		if size == greetingSize {
			return new(Greeting)
		}
		return new(Error)
	case KindResult, KindHighresResult:
		return &Result{Highres: kind == KindHighresResult}
	case KindProfile:
		return new(Profile)
	case KindFetch, KindHighresFetch:
		return &Fetch{Highres: kind == KindHighresFetch}
	case KindDescReq:
		return new(DescReq)
	case KindDesc:
		return new(Desc)
	case KindInstanceReq:
		return new(InstanceReq)
	case KindInstances:
		return new(Instances)
	case KindTextReq:
		return new(TextReq)
	case KindText:
		return new(Text)
	case KindCreds:
		return new(Creds)
	case KindIDs:
		return new(IDs)
	case KindNames:
		return new(Names)
	case KindChildren:
		return new(Children)
	case KindTraverse:
		return new(Traverse)
	case KindAttr:
		return new(Attr)
	case KindLabelReq:
		return new(LabelReq)
	case KindLabels:
		return new(Labels)
	case KindDescIDs:
		return new(DescIDs)
	case KindDescs:
		return new(Descs)
	}
	return nil
}

// Malformed is the error for bytes that are not a valid message.
type Malformed struct {
	Kind Kind // from the header, zero without one
	What string
}

func (e *Malformed) Error() string {
	return fmt.Sprintf("a PDU of %v with %s", e.Kind, e.What)
}

// A parser reads a message. After an error it returns zeros, and bad describes the error.
type parser struct {
	b   []byte
	at  int
	bad string
}

func (p *parser) fail(what string) {
	if p.bad == "" {
		p.bad = what
	}
	p.at = len(p.b)
}

// left is how many bytes are still to be read.
func (p *parser) left() int { return len(p.b) - p.at }

// take returns the next n bytes; nil if there are fewer.
func (p *parser) take(n int) []byte {
	if n < 0 || n > p.left() {
		p.fail("less than it should have")
		return nil
	}
	b := p.b[p.at : p.at+n]
	p.at += n
	return b
}

func (p *parser) u32() uint32 {
	b := p.take(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (p *parser) i32() int32 { return int32(p.u32()) }

func (p *parser) u64() uint64 { return uint64(p.u32())<<32 | uint64(p.u32()) }

// count reads the number of items that follow, each of at least size bytes. It fails if they do
// not fit into the rest of the message.
func (p *parser) count(size int) int {
	n := p.u32()
	if int64(n)*int64(size) > int64(p.left()) {
		p.fail("more announced than it has")
		return 0
	}
	return int(n)
}

// words returns the next n numbers; nil for none.
func (p *parser) words(n int) []uint32 {
	b := p.take(4 * n)
	if len(b) == 0 {
		return nil
	}
	list := make([]uint32, n)
	for i := range list {
		list[i] = binary.BigEndian.Uint32(b[4*i:])
	}
	return list
}

// text reads a text of n bytes and its padding to four bytes.
func (p *parser) text(n uint32) string {
	if int64(n) > int64(p.left()) {
		p.fail("a text that is longer than it")
		return ""
	}
	b := p.take((int(n) + 3) &^ 3)
	if b == nil {
		return ""
	}
	return string(b[:n])
}

func appendU32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }

// appendText appends the length of s, s, and its padding to four bytes.
func appendText(dst []byte, s string) []byte {
	return appendFill(append(appendU32(dst, uint32(len(s))), s...), len(s))
}

// appendFill appends the padding after n bytes.
func appendFill(dst []byte, n int) []byte { return append(dst, "~~~"[:-n&3]...) }
