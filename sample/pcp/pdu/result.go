package pdu

import (
	"encoding/binary"
	"slices"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// Fetch asks for values.
type Fetch struct {
	Context int32
	PMIDs   []metric.PMID
	Highres bool
}

func (m *Fetch) Kind() Kind {
	if m.Highres {
		return KindHighresFetch
	}
	return KindFetch
}

func (m *Fetch) append(dst []byte, _ int) []byte {
	dst = append(appendU32(dst, uint32(m.Context)), 0, 0, 0, 0, 0, 0, 0, 0)
	return appendPMIDs(dst, m.PMIDs)
}

func (m *Fetch) parse(p *parser) {
	m.Context = p.i32()
	p.u64() // an obsolete time
	m.PMIDs = p.pmids()
	if p.bad == "" && len(m.PMIDs) == 0 {
		p.fail("no metric")
	}
}

// Result is values: the answer to Fetch, with a Set for each metric in the order of the request,
// or values to store.
type Result struct {
	Highres bool
	// Seconds and Nanoseconds are the time of the values. Pmcd takes an agent's time for flags
	// (LabelsChanged, NamesChanged); without flags it must be zero.
	Seconds     uint64
	Nanoseconds uint64
	Sets        []Set
}

// A Set is the values of one metric. Instances[i] has the number Bits[i], as in pcp.AppendBlock,
// or the string or other non-number Words[i].
type Set struct {
	PMID metric.PMID
	// Type is the type of all values. 32-bit numbers do not show whether they are signed: Parse
	// gives pcp.U32 for both.
	Type      pcp.Type
	Instances []uint32 // pcp.Null for the one value of a metric without instances
	Bits      []uint64
	Words     []string
	// Err is why there are no values; zero means that there simply are none.
	Err int32
}

const (
	setHead    = 8
	inSitu     = 0
	byPointer  = 1
	resultHead = HeaderSize + 12
	highHead   = HeaderSize + 20
)

func (m *Result) Kind() Kind {
	if m.Highres {
		return KindHighresResult
	}
	return KindResult
}

func (m *Result) append(dst []byte, start int) []byte {
	if m.Highres {
		dst = appendU32(dst, uint32(len(m.Sets)))
		dst = binary.BigEndian.AppendUint64(dst, m.Seconds)
		dst = binary.BigEndian.AppendUint64(dst, m.Nanoseconds)
	} else {
		dst = appendU32(appendU32(dst, uint32(m.Seconds)), uint32(m.Nanoseconds/1000))
		dst = appendU32(dst, uint32(len(m.Sets)))
	}
	sets, blocks := 0, 0
	for i := range m.Sets {
		s, b := m.Sets[i].size()
		sets, blocks = sets+s, blocks+b
	}
	// Sets are written from the front, blocks after all of them.
	at := len(dst)
	dst = slices.Grow(dst, sets+blocks)[:at+sets]
	for i := range m.Sets {
		dst, at = m.Sets[i].put(dst, at, start)
	}
	return dst
}

// size returns how many bytes s takes among the sets, and among the blocks.
func (s *Set) size() (set, blocks int) {
	n := len(s.Instances)
	switch {
	case n == 0:
		return setHead, 0
	case s.Type.InSitu():
	case s.Type == pcp.I64 || s.Type == pcp.U64 || s.Type == pcp.Double:
		blocks = 12 * n
	case s.Type == pcp.Float:
		blocks = 8 * n
	default:
		for _, w := range s.Words {
			blocks += pcp.StringBlock(w)
		}
	}
	return setHead + 4 + 8*n, blocks
}

// put writes s at dst[at:], and appends its blocks; the message begins at start.
func (s *Set) put(dst []byte, at, start int) (_ []byte, next int) {
	put := func(v uint32) {
		binary.BigEndian.PutUint32(dst[at:], v)
		at += 4
	}
	put(uint32(s.PMID))
	if len(s.Instances) == 0 {
		put(uint32(min(s.Err, 0)))
		return dst, at
	}
	put(uint32(len(s.Instances)))
	if s.Type.InSitu() {
		put(inSitu)
		for i, id := range s.Instances {
			put(id)
			put(uint32(s.Bits[i]))
		}
		return dst, at
	}
	put(byPointer)
	for i, id := range s.Instances {
		put(id)
		put(uint32(len(dst)-start) / 4)
		switch s.Type {
		case pcp.I64, pcp.U64, pcp.Double, pcp.Float:
			dst = pcp.AppendBlock(dst, s.Type, s.Bits[i])
		default:
			dst = pcp.AppendString(dst, s.Words[i])
		}
	}
	return dst, at
}

func (m *Result) parse(p *parser) {
	var n int
	if m.Highres {
		n = int(p.u32())
		m.Seconds, m.Nanoseconds = p.u64(), p.u64()
	} else {
		m.Seconds, m.Nanoseconds = uint64(p.u32()), 1000*uint64(p.u32())
		n = int(p.u32())
	}
	if n > p.left()/setHead {
		p.fail("more announced than it has")
		return
	}
	if n == 0 {
		return
	}
	m.Sets = make([]Set, n)
	blocks := blockArea{first: len(p.b)}
	for i := range m.Sets {
		m.Sets[i].parse(p, &blocks)
		if p.bad != "" {
			return
		}
	}
	// The blocks must fill the rest exactly, without overlap. Otherwise a short message could
	// hold one long text many times.
	if blocks.size > 0 && blocks.first != p.at || blocks.size != p.left() {
		p.fail("values that are not where it says")
		return
	}
	p.at = len(p.b)
}

// A blockArea is the known extent of the blocks after all sets.
type blockArea struct{ first, size int }

func (s *Set) parse(p *parser, blocks *blockArea) {
	s.PMID = metric.PMID(p.u32())
	n := p.i32()
	if n <= 0 {
		s.Err = n
		return
	}
	format := p.u32()
	if int64(n)*8 > int64(p.left()) {
		p.fail("more announced than it has")
		return
	}
	s.Instances = make([]uint32, n)
	if format == inSitu {
		s.Type = pcp.U32
		s.Bits = make([]uint64, n)
		for i := range s.Instances {
			s.Instances[i], s.Bits[i] = p.u32(), uint64(p.u32())
		}
		return
	}
	for i := range s.Instances {
		s.Instances[i] = p.u32()
		s.block(p, i, p.u32(), blocks)
		if p.bad != "" {
			return
		}
	}
}

// block reads value i of s from its block.
func (s *Set) block(p *parser, i int, word uint32, blocks *blockArea) {
	at := int64(word) * 4
	if at >= int64(len(p.b)) {
		p.fail("a value that is not where it says")
		return
	}
	typ, value, ok := pcp.Block(p.b[at:])
	size := (len(value) + 4 + 3) &^ 3
	if blocks.size += size; !ok || blocks.size > len(p.b) {
		p.fail("a value that is not where it says")
		return
	}
	blocks.first = min(blocks.first, int(at))
	if i == 0 {
		s.Type = typ
	}
	bits, number := pcp.Number(typ, value)
	switch mt, known := typ.Metric(); {
	case typ != s.Type:
		p.fail("values of two types for one metric")
	case number:
		s.Bits = append(s.Bits, bits)
	case known && mt != metric.String:
		p.fail("a number of another length than its type has")
	case typ == pcp.String:
		s.Words = append(s.Words, pcp.Cut(string(value)))
	default:
		s.Words = append(s.Words, string(value))
	}
}
