package compact

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/stack/chain"
)

func code(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	push    = 0x1000 // where the functions of these tests begin
	body    = -1     // an offset beyond what was read of the code
	unknown = ^uint64(0)
)

// encode makes an encoding for Intel's processors: mode, size in words, and which registers in
// which order.
func encode(mode, size, registers, order uint32) Encoding {
	return Encoding(mode<<24 | size<<16 | registers<<10 | order)
}

func TestIntel(t *testing.T) {
	// push rbp; push r14; push rbx; sub rsp, 16; ...; add rsp, 16; pop rbx; pop r14; pop rbp; ret
	const frameless = "55 4156 53 4883ec10 e800000000 4883c410 5b 415e 5d c3"
	three := encode(intelImmediate, 6, 3, 0*20+2*4+3) // RBX, R14, RBP from below
	// push rbp; mov rbp, rsp; push rbx; ...; pop rbx; pop rbp; ret
	const framed = "55 4889e5 53 e800000000 5b 5d c3"
	frame := encode(intelFrame, 0, 0, 0)
	// sub rsp, 0x1238; ...; add rsp, 0x1238; ret
	const large = "4881ec38120000 e800000000 4881c438120000 c3"
	indirect := Encoding(intelIndirect<<24 | 3<<16 | 1<<13)
	plain := encode(intelImmediate, 1, 0, 0)
	for _, c := range []struct {
		name string
		e    Encoding
		code string
		at   int
		rule chain.Rule
	}{
		{"before any push", three, frameless, 0, chain.Rule{Size: 8}},
		{"one push", three, frameless, 1, chain.Rule{Size: 16, FP: 16}},
		{"two pushes", three, frameless, 3, chain.Rule{Size: 24, FP: 16}},
		{"all pushed", three, frameless, 4, chain.Rule{Size: 32, FP: 16}},
		{"room made", three, frameless, 8, chain.Rule{Size: 48, FP: 16}},
		{"called", three, frameless, 13, chain.Rule{Size: 48, FP: 16}},
		{"room given back", three, frameless, 17, chain.Rule{Size: 32, FP: 16}},
		{"one popped", three, frameless, 18, chain.Rule{Size: 24, FP: 16}},
		{"two popped", three, frameless, 20, chain.Rule{Size: 16, FP: 16}},
		{"about to return", three, frameless, 21, chain.Rule{Size: 8}},
		{"far behind", three, frameless, body, chain.Rule{Size: 48, FP: 16}},
		{"a frame, before it", frame, framed, 0, chain.Rule{Size: 8}},
		{"a frame, pushed", frame, framed, 1, chain.Rule{Size: 16, FP: 16}},
		{"a frame", frame, framed, 4, chain.Rule{}},
		{"a frame, called", frame, framed, 10, chain.Rule{Size: 24, FP: 16}},
		{"a frame, popped", frame, framed, 11, chain.Rule{Size: 16, FP: 16}},
		{"a frame, about to return", frame, framed, 12, chain.Rule{Size: 8}},
		{"a frame, far behind", frame, framed, body, chain.Rule{}},
		{"much room, before", indirect, large, 0, chain.Rule{Size: 8}},
		{"much room", indirect, large, 7, chain.Rule{Size: 0x1238 + 8}},
		{"much room, about to return", indirect, large, 19, chain.Rule{Size: 8}},
		{"much room, far behind", indirect, large, body, chain.Rule{Size: 0x1238 + 8}},
		{"a leaf", plain, "31c0 c3", 0, chain.Rule{Size: 8}},
		{"a leaf at its end", plain, "31c0 c3", 2, chain.Rule{Size: 8}},
		{"without the code", plain, "", 0, chain.Rule{Size: unknown}},
		{"much room, without the code", indirect, "", 0, chain.Rule{Size: unknown}},
		{"much room, too little code", indirect, "4881ec3812", 0, chain.Rule{Size: unknown}},
		{"DWARF", encode(4, 0, 0, 0), frameless, 0, chain.Rule{Size: unknown}},
		{"no size", encode(intelImmediate, 0, 0, 0), frameless, body, chain.Rule{Size: unknown}},
		{"less than its registers", encode(intelImmediate, 2, 3, 0*20+2*4+3), frameless, body, chain.Rule{Size: 16, FP: 16}},
	} {
		f := Function{push, code(t, c.code)}
		pc := uint32(push + c.at)
		if c.at == body {
			pc = push + 0x500
		}
		r := Range{push, push + 0x1000, c.e}
		rule, ok := r.Intel(f, pc, true)
		if want := c.rule.Size != unknown; ok != want || ok && rule != c.rule {
			t.Errorf("%s: %+v, %v; want %+v", c.name, rule, ok, c.rule)
		}
	}
	// At a call, a function is in its body, and only the size in an instruction needs the code.
	for name, c := range map[string]struct {
		e    Encoding
		code string
		rule chain.Rule
	}{
		"frameless":  {three, "", chain.Rule{Size: 48, FP: 16}},
		"a frame":    {frame, "", chain.Rule{}},
		"much room":  {indirect, large, chain.Rule{Size: 0x1240}},
		"of nowhere": {indirect, "", chain.Rule{Size: unknown}},
	} {
		f := Function{Code: code(t, c.code)}
		if c.code != "" {
			f.Start = push
		}
		rule, ok := (Range{push, push + 0x1000, c.e}).Intel(f, push+1, false)
		if want := c.rule.Size != unknown; ok != want || ok && rule != c.rule {
			t.Errorf("at a call, %s: %+v, %v; want %+v", name, rule, ok, c.rule)
		}
	}
}

// The linker has joined functions of the same encoding: the code begins at the function.
func TestJoined(t *testing.T) {
	r := Range{push, push + 0x1000, encode(intelImmediate, 2, 1, 0)}
	f := Function{push + 0x100, code(t, "53 e800000000 5b c3")}
	for at, want := range map[uint32]uint64{0: 8, 1: 16, 6: 16, 7: 8} {
		if rule, ok := r.Intel(f, f.Start+at, true); !ok || rule.Size != want {
			t.Errorf("%d: %+v, %v; want %d", at, rule, ok, want)
		}
	}
}

// The number of an order of registers is its place among all orders of as many registers.
func TestOrders(t *testing.T) {
	const rbp = 6
	for n := uint32(0); n <= 6; n++ {
		order := uint32(0)
		var each func(list []int)
		each = func(list []int) {
			if len(list) == int(n) {
				want := -1
				if i := slices.Index(list, rbp); i >= 0 {
					want = int(n) - 1 - i
				}
				if got := encode(intelImmediate, 20, n, order).frameRegister(); got != want {
					t.Fatalf("%v: the frame pointer is at %d, want %d", list, got, want)
				}
				order++
				return
			}
			for register := 1; register <= 6; register++ {
				if !slices.Contains(list, register) {
					each(append(list, register))
				}
			}
		}
		each(nil)
		if order < 1000 && n > 0 {
			if got := encode(intelImmediate, 20, n, 1023).frameRegister(); got >= int(n) {
				t.Errorf("an order that does not exist: %d", got)
			}
		}
	}
	if got := encode(intelImmediate, 20, 7, 0).frameRegister(); got != -1 {
		t.Errorf("seven registers: %d", got)
	}
}

func TestLinked(t *testing.T) {
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = le.AppendUint32(b, w)
		}
		return b
	}
	const (
		pacibsp, callOther, other, ret, tail = 0xd503237f, 0x94000010, 0xaa0003f3, 0xd65f03c0, 0x14000020
		store, makeRoom, load, loadF         = 0xa9027bfd, 0xd100c3ff, 0xa9427bfd, 0x6d4127e8
	)
	code := words(pacibsp, makeRoom, store, 0x910083fd, callOther, other, load, 0x9100c3ff, checkB, ret, other, callOther)
	linked := []bool{true, true, true, true, false, false, false, true, true, true, false, false, false}
	frame := Range{push, push + 0x1000, armFrame << 24}
	for i, want := range linked {
		if i == len(linked)-1 {
			i = 100 // far behind
		}
		if got, ok := frame.Linked(Function{push, code}, push+uint32(i)*4); !ok || got != want {
			t.Errorf("instruction %d: %v, %v; want %v", i, got, ok, want)
		}
	}
	// Floating point registers come back after the frame, and another function is jumped to.
	code = words(store, 0x910003fd, callOther, 0xa8c27bfd, loadF, tail)
	for i, want := range []bool{true, true, false, false, true, true} {
		if got, ok := frame.Linked(Function{push, code}, push+uint32(i)*4); !ok || got != want {
			t.Errorf("with a jump, instruction %d: %v, %v; want %v", i, got, ok, want)
		}
	}
	for name, c := range map[string]struct {
		e          Encoding
		code       []byte
		linked, ok bool
	}{
		"a leaf":           {armLeaf << 24, nil, true, true},
		"a leaf with room": {armLeaf<<24 | 2<<12, code, true, true},
		"DWARF":            {3 << 24, code, false, false},
		"no code":          {armFrame << 24, nil, false, false},
	} {
		if linked, ok := (Range{push, push + 0x1000, c.e}).Linked(Function{push, c.code}, push+4); linked != c.linked || ok != c.ok {
			t.Errorf("%s: %v, %v", name, linked, ok)
		}
	}
}
