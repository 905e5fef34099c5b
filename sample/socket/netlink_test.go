package socket

import (
	"encoding/binary"
	"testing"
)

// wrap writes a netlink message.
func wrap(kind, flags uint16, seq uint32, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(nlHeader+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flags)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = append(binary.NativeEndian.AppendUint32(b, 0), body...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func inState(state byte) []byte {
	body := make([]byte, diagSize)
	body[0], body[diagState] = 2, state
	return body
}

func TestAnswer(t *testing.T) {
	code := func(n int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }
	var counts StateCounts
	a := answer{seq: 7}
	a.read(append(wrap(diagTCP, 2, 7, inState(1)), wrap(diagTCP, 2, 7, inState(10))...), counts.add)
	a.read(wrap(diagTCP, 2|nlDumpTorn, 6, inState(10)), counts.add) // answers an earlier request
	a.read(append(wrap(diagTCP, 2, 7, inState(99)), wrap(diagTCP, 2, 7, nil)...), counts.add)
	if a.done || a.errno != 0 || a.torn || counts != (StateCounts{1: 1, 10: 1}) {
		t.Errorf("%+v, %v", a, counts)
	}
	a.read(append(wrap(nlDone, 2|nlDumpTorn, 7, code(0)), wrap(diagTCP, 2, 7, inState(1))...), counts.add)
	if !a.done || a.errno != 0 || !a.torn || counts[1] != 1 {
		t.Errorf("at the end: %+v, %v", a, counts)
	}
	for what, c := range map[string]struct {
		b    []byte
		want uint32
	}{
		"refused":            {wrap(nlError, 0, 7, code(-2)), 2},
		"stopped":            {wrap(nlDone, 2, 7, code(-12)), 12},
		"refused, cut short": {wrap(nlError, 0, 7, nil), malformed},
		"cut short":          {[]byte{200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, malformed},
		"shorter than empty": {make([]byte, nlHeader), malformed},
	} {
		a := answer{seq: 7}
		if a.read(c.b, counts.add); !a.done || a.errno != c.want {
			t.Errorf("%s: %+v", what, a)
		}
	}
}

func TestQuery(t *testing.T) {
	q := query(nil, 9, 0x1fff, 0x42)
	ne := binary.NativeEndian
	if len(q) != 76 || ne.Uint32(q) != 76 || ne.Uint16(q[4:]) != 18 || ne.Uint32(q[8:]) != 9 || q[19] != 0x42 || ne.Uint32(q[68:]) != 0x1fff {
		t.Errorf("query %x", q)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(wrap(diagTCP, 2, 7, inState(1)))
	f.Add(wrap(nlError, 0, 7, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var counts StateCounts
		a := answer{seq: 7}
		a.read(b, counts.add)
	})
}
