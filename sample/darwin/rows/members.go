package rows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
)

// Member is a number in a struct: a field, an element of an array, or the sum of all its
// elements.
type Member struct {
	*decode.Field
	first, n int // elements
}

// Members finds the leaves of t in the struct that ends each question, with its layout on a
// processor (a GOARCH). The source's own words are in no struct; any other missing word is a
// mistake in the program and panics.
func (t *Table) Members(arch string, own ...string) []Member {
	ms := make([]Member, len(t.Leaves))
	for i, l := range t.Leaves {
		m, ok := member(l, arch)
		if !ok && !slices.Contains(own, l.Word) {
			panic(fmt.Sprintf("catalog: %s: source %q: no struct has %s on %s", l.Metric.Name, l.Metric.Source, l.Word, arch))
		}
		ms[i] = m
	}
	return ms
}

func member(l Leaf, arch string) (Member, bool) {
	name, index, indexed := strings.Cut(strings.TrimSuffix(l.Word, "]"), "[")
	f := decode.Find(l.Question[strings.LastIndexByte(l.Question, ' ')+1:], name, arch)
	if f == nil || indexed != (f.Len > 0) {
		return Member{}, false
	}
	m := Member{f, 0, max(f.Len, 1)}
	if index != "" {
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || n >= f.Len {
			return Member{}, false
		}
		m.first, m.n = n, 1
	}
	return m, true
}

// Value reads the member; short is the reason if the answer ends before it.
func (m *Member) Value(answer []byte, short metric.Reason) Value {
	var sum uint64
	for i := m.first; i < m.first+m.n; i++ {
		v, ok := m.Element(answer, i)
		if !ok {
			return Value{Miss: short}
		}
		sum += v
	}
	return Value{Bits: sum}
}

// Struct is an answer that is one struct. The leaves of a table are its members.
type Struct struct {
	Members []Member
	Answer  []byte
	Short   metric.Reason // the reason for members beyond the answer's end
}

// Leaf returns a member's value.
func (s *Struct) Leaf(i int) Value { return s.Members[i].Value(s.Answer, s.Short) }
