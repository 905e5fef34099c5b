package mach

import (
	"encoding/binary"
	"testing"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
	"tachograph/sample/stack/compact"
	"tachograph/sample/stack/macho"
)

// nothing is memory that cannot be read.
type nothing struct{}

func (nothing) Read(uint64, []byte) bool { return false }

// Inside a suspension, rules are looked up without allocating, and what is missing is noted,
// as far as there is room.
func TestRulesInsideSuspensions(t *testing.T) {
	le := binary.LittleEndian
	var b []byte
	for _, v := range []uint32{1, 28, 0, 28, 0, 28, 2, // the header
		0x1000, 52, 0, 0x2000, 0, 0, // the index
		2, 8 | 3<<16, 0x1000, 0x02030000, 0x1100, 0x01000000, 0x1200, 0x03032000} {
		b = le.AppendUint32(b, v)
	}
	table, ok := compact.Read(b)
	if !ok {
		t.Fatal("the table was not read")
	}
	const base, other, arm = 0x10b000000, 0x10c000000, 0x10d000000
	m := &images{names: newNames()}
	at := &image{Image: stack.Image{Base: base}, unwinding: unwinding{sought: true, table: table}}
	m.add(base, 0x8000, at)
	m.list = append(m.list, mapped{load: other, size: 0x8000})
	m.add(arm, 0x8000, &image{header: macho.Header{ARM: true}, unwinding: unwinding{sought: true, table: table}})
	m.sort()
	m.names.budget.Unwind = 0
	r := rules{images: m}
	for _, c := range []struct {
		addr      uint64
		innermost bool
		rule      chain.Rule
		ok        bool
		missed    int
	}{
		{base + 0x1080, false, chain.Rule{Size: 24}, true, 0},
		{base + 0x1080, true, chain.Rule{}, false, 1}, // its code is needed
		{base + 0x1180, false, chain.Rule{}, true, 0},
		{base + 0x1180, true, chain.Rule{}, false, 0}, // the frame pointer leads on
		{base + 0x1280, false, chain.Rule{}, false, 1},
		{base + 0x3000, false, chain.Rule{}, false, 0},
		{base + 0x8000, false, chain.Rule{}, false, 0},
		{base - 1, false, chain.Rule{}, false, 0},
		{other + 8, false, chain.Rule{}, false, 1},
		{arm + 0x1080, false, chain.Rule{}, false, 0},
	} {
		r.n = 0
		rule, ok := r.Rule(c.addr, c.innermost)
		if ok != c.ok || ok && rule != c.rule || r.n != c.missed {
			t.Errorf("%#x, %v: %+v, %v, %d missed; want %+v, %v, %d", c.addr, c.innermost, rule, ok, r.n, c.rule, c.ok, c.missed)
		}
		if c.missed > 0 && c.addr < other {
			// What may not be kept is not read again and again.
			m.mem = &nothing{}
			at.mem = m.mem
			r.learn()
			if r.Rule(c.addr, c.innermost); r.learn() {
				t.Errorf("%#x: something more was read without a budget", c.addr)
			}
		}
		if n := testing.AllocsPerRun(100, func() { r.Rule(c.addr, c.innermost) }); n > 0 {
			t.Errorf("%#x, %v: %v allocations", c.addr, c.innermost, n)
		}
		if r.n > len(r.missing) {
			t.Errorf("%d missed", r.n)
		}
	}
}
