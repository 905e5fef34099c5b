package chain

import (
	"encoding/binary"
	"slices"
	"testing"

	"tachograph/sample/stack"
)

// region is a range of memory.
type region struct {
	at    uint64
	b     []byte
	reads int
}

func (r *region) Read(addr uint64, b []byte) bool {
	r.reads++
	if addr < r.at || addr-r.at > uint64(len(r.b)) || uint64(len(r.b))-(addr-r.at) < uint64(len(b)) {
		return false
	}
	copy(b, r.b[addr-r.at:])
	return true
}

func (r *region) put(addr uint64, words ...uint64) {
	for i, v := range words {
		binary.LittleEndian.PutUint64(r.b[addr-r.at+uint64(i)*8:], v)
	}
}

const low, high = 0x16f000000, 0x16f100000

func memory() *region { return &region{at: low, b: make([]byte, high-low)} }

func TestWalk(t *testing.T) {
	const sp, fp = low + 0x4100, low + 0x4140
	// Three calls, with frames of different sizes.
	good := func(m *region) {
		m.put(fp, fp+0x40, 0x2000)
		m.put(fp+0x40, fp+0x100, 0x3000)
		m.put(fp+0x100, 0, 0x4000)
	}
	for _, c := range []struct {
		name   string
		change func(m *region)
		r      Registers
		want   []uint64
		end    stack.End
	}{
		{"whole", nil, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000, 0x3000, 0x4000}, stack.Whole},
		{"an empty record at the end", func(m *region) { m.put(fp+0x100, fp+0x200, 0x4000, 0, 0) }, Registers{PC: 0x1000, SP: sp, FP: fp},
			[]uint64{0x1000, 0x2000, 0x3000, 0x4000}, stack.Whole},
		{"no frame", nil, Registers{PC: 0x1000, SP: sp}, []uint64{0x1000}, stack.Whole},
		{"signed", func(m *region) { m.put(fp, fp+0x40, 0x8a3f<<48|0x2000) }, Registers{PC: 0x1000, SP: sp, FP: fp},
			[]uint64{0x1000, 0x2000, 0x3000, 0x4000}, stack.Whole},
		{"asynchronous", func(m *region) { m.put(fp+0x40, async|fp+0x100, 0x3000) }, Registers{PC: 0x1000, SP: sp, FP: async | fp},
			[]uint64{0x1000, 0x2000, 0x3000, 0x4000}, stack.Whole},
		{"a loop", func(m *region) { m.put(fp+0x40, fp, 0x3000) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000, 0x3000}, stack.Broken},
		{"its own caller", func(m *region) { m.put(fp, fp, 0x2000) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"unaligned", func(m *region) { m.put(fp, fp+0x43, 0x2000) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"nowhere", func(m *region) { m.put(fp, 0x7fff00000000, 0x2000) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"over the edge", func(m *region) { m.put(fp, high-8, 0x2000) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"the end of all memory", func(m *region) { m.put(fp, 1<<64-8, 0x2000) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"returns to nothing", func(m *region) { m.put(fp+0x40, fp+0x100, 0) }, Registers{PC: 0x1000, SP: sp, FP: fp}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"a frame below the stack", nil, Registers{PC: 0x1000, SP: fp + 8, FP: fp}, []uint64{0x1000}, stack.Broken},
		{"far up", func(m *region) { m.put(fp+0x40, high-16, 0x3000); m.put(high-16, 0, 0x4000) }, Registers{PC: 0x1000, SP: sp, FP: fp},
			[]uint64{0x1000, 0x2000, 0x3000, 0x4000}, stack.Whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := memory()
			good(m)
			if c.change != nil {
				c.change(m)
			}
			var w Walker
			got, end := w.Walk(m, &c.r, make([]uint64, 0, 10))
			if !slices.Equal(got, c.want) || end != c.end {
				t.Errorf("%#x, end %d; want %#x, end %d", got, end, c.want, c.end)
			}
		})
	}
}

// A usual stack takes one read, and no stack a read for each frame.
func TestWalkReadsLittle(t *testing.T) {
	m := memory()
	fp := uint64(low + 0x8040)
	r := &Registers{PC: 1, SP: low + 0x8000, FP: fp}
	for i := range 30 {
		m.put(fp, fp+0x80, uint64(i+2))
		fp += 0x80
	}
	m.put(low+0x8000, 0x1111, 0x2222)
	var w Walker
	frames := make([]uint64, 0, 512)
	if got, _ := w.Walk(m, r, frames); len(got) != 31 || m.reads != 1 {
		t.Errorf("%d frames with %d reads", len(got), m.reads)
	}
	if w.Top != [2]uint64{0x1111, 0x2222} {
		t.Errorf("at the top of the stack %#x", w.Top)
	}
	if n := testing.AllocsPerRun(10, func() { w.Walk(m, r, frames) }); n > 0 {
		t.Errorf("a walk allocates %.0f times", n)
	}
}

// Frames in the last small page before the stack's end are found, too.
func TestWalkAtTheEndOfTheStack(t *testing.T) {
	m := &region{at: low, b: make([]byte, 0x9000)} // ends in the middle of a large page
	fp := uint64(low + 0x8ff0)
	m.put(fp, 0, 0x2000)
	var w Walker
	got, end := w.Walk(m, &Registers{PC: 0x1000, SP: fp - 0x20, FP: fp}, make([]uint64, 0, 10))
	if len(got) != 2 || end != stack.Whole {
		t.Errorf("%#x, end %d", got, end)
	}
}

// Depth and number of reads are bounded.
func TestWalkIsBounded(t *testing.T) {
	m := &region{at: low, b: make([]byte, 8<<20)}
	chain := func(step uint64) *Registers {
		for fp := uint64(low + 64); fp+step < low+8<<20; fp += step {
			m.put(fp, fp+step, 0x2000)
		}
		return &Registers{PC: 1, SP: low, FP: low + 64}
	}
	var w Walker
	if got, end := w.Walk(m, chain(32), make([]uint64, 0, stack.MaxDepth)); len(got) != stack.MaxDepth || end != stack.Truncated {
		t.Errorf("%d frames, end %d", len(got), end)
	}
	m.reads = 0
	if got, end := w.Walk(m, chain(32<<10), make([]uint64, 0, stack.MaxDepth)); end != stack.Truncated || m.reads != reads || len(got) != reads+1 {
		t.Errorf("%d frames with %d reads, end %d", len(got), m.reads, end)
	}
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint64(16), uint64(0))
	f.Add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(make([]byte, 8), low+24), 7), uint64(8), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, fp, sp uint64) {
		m := &region{at: low, b: b}
		var w Walker
		frames, end := w.Walk(m, &Registers{PC: 1, FP: low + fp, SP: low + sp}, make([]uint64, 0, 64))
		if len(frames) == 0 || len(frames) > 64 || m.reads > reads {
			t.Errorf("%d frames with %d reads", len(frames), m.reads)
		}
		if end == stack.Whole && slices.Contains(frames[1:], 0) {
			t.Errorf("a whole stack returns to nothing: %#x", frames)
		}
	})
}

// some knows the rules of a few functions, by the address that was asked for.
type some map[uint64]Rule

func (s some) Rule(addr uint64, _ bool) (Rule, bool) {
	r, ok := s[addr]
	return r, ok
}

// Functions without frames are found by their rules, wherever they are in a stack, and whether
// or not they use the frame pointer for something else.
func TestWalkByRules(t *testing.T) {
	const sp = low + 0x4100
	for _, c := range []struct {
		name  string
		put   func(m *region)
		r     Registers
		rules some
		want  []uint64
		end   stack.End
	}{
		{"a leaf", func(m *region) { m.put(sp, 0x2000, 0, 0, sp+0x80, 0x3000); m.put(sp+0x18, 0, 0x3000) },
			Registers{PC: 0x1000, SP: sp, FP: sp + 0x18}, some{0x1000: {Size: 8}}, []uint64{0x1000, 0x2000, 0x3000}, stack.Whole},
		{"in the middle", func(m *region) { m.put(sp+0x10, sp+0x50, 0x2000, 0, 0x3000); m.put(sp+0x50, 0, 0x4000) },
			Registers{PC: 0x1000, SP: sp, FP: sp + 0x10}, some{0x1fff: {Size: 16}}, []uint64{0x1000, 0x2000, 0x3000, 0x4000}, stack.Whole},
		{"the frame pointer is in use", func(m *region) { m.put(sp+8, sp+0x50, 0x2000); m.put(sp+0x50, 0, 0x4000) },
			Registers{PC: 0x1000, SP: sp, FP: 0x77}, some{0x1000: {Size: 24, FP: 16}}, []uint64{0x1000, 0x2000, 0x4000}, stack.Whole},
		{"saved further below", func(m *region) { m.put(sp, sp+0x50, 1, 2, 0x2000); m.put(sp+0x50, 0, 0x4000) },
			Registers{PC: 0x1000, SP: sp, FP: 0}, some{0x1000: {Size: 32, FP: 32}}, []uint64{0x1000, 0x2000, 0x4000}, stack.Whole},
		{"one after the other", func(m *region) { m.put(sp, 0x2000, 0, 0x3000, 0, 0) },
			Registers{PC: 0x1000, SP: sp}, some{0x1000: {Size: 8}, 0x1fff: {Size: 16}, 0x2fff: {Size: 16}}, []uint64{0x1000, 0x2000, 0x3000}, stack.Whole},
		{"a frame in what is left behind", func(m *region) { m.put(sp, 0x2000); m.put(sp-16, 0, 0x4000) },
			Registers{PC: 0x1000, SP: sp, FP: sp - 16}, some{0x1000: {Size: 8}}, []uint64{0x1000, 0x2000}, stack.Broken},
		{"nowhere", nil, Registers{PC: 0x1000, SP: sp, FP: sp + 0x10}, some{0x1000: {Size: 1 << 32}}, []uint64{0x1000}, stack.Broken},
		{"beyond all memory", nil, Registers{PC: 0x1000, SP: sp, FP: sp + 0x10}, some{0x1000: {Size: 1<<64 - 8}}, []uint64{0x1000}, stack.Broken},
		{"no multiple of a word", nil, Registers{PC: 0x1000, SP: sp, FP: sp + 0x10}, some{0x1000: {Size: 12}}, []uint64{0x1000}, stack.Broken},
		{"outside of its part", nil, Registers{PC: 0x1000, SP: sp, FP: sp + 0x10}, some{0x1000: {Size: 8, FP: 16}}, []uint64{0x1000}, stack.Broken},
		{"returns to nothing", func(m *region) { m.put(sp, 0) }, Registers{PC: 0x1000, SP: sp, FP: sp + 0x10}, some{0x1000: {Size: 8}}, []uint64{0x1000}, stack.Broken},
		{"without end", func(m *region) {
			for at := uint64(sp); at < high; at += 8 {
				m.put(at, 0x2000)
			}
		}, Registers{PC: 0x1000, SP: sp}, some{0x1000: {Size: 8}, 0x1fff: {Size: 8}},
			[]uint64{0x1000, 0x2000, 0x2000, 0x2000, 0x2000, 0x2000, 0x2000, 0x2000, 0x2000, 0x2000}, stack.Truncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := memory()
			if c.put != nil {
				c.put(m)
			}
			w := Walker{Rules: c.rules}
			got, end := w.Walk(m, &c.r, make([]uint64, 0, 10))
			_, known := c.rules[c.r.PC]
			if !slices.Equal(got, c.want) || end != c.end || w.Ruled != known {
				t.Errorf("%#x, end %d, %v; want %#x, end %d", got, end, w.Ruled, c.want, c.end)
			}
		})
	}
}
