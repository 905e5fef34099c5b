package unwind

import (
	"encoding/binary"
	"slices"
	"testing"

	"tachograph/sample/stack"
)

// put writes words into a stack.
func put(b []byte, at uint64, words ...uint64) {
	for i, v := range words {
		binary.LittleEndian.PutUint64(b[at+8*uint64(i):], v)
	}
}

const bias, top = 0x7f0000000000, 0x7ffd00001000

// program is an image for x86-64, whose functions are 0x100 long.
func program() *Image {
	t := &tables{}
	t.common("zR", -8, 16, 0x0c, 7, 8, 0x90, 1)
	t.function(0x1000, 0x100)                                            // a leaf
	t.function(0x1100, 0x100, 0x41, 0x0e, 16, 0x83, 2, 0x41, 0x0e, 0x30) // saves rbx, uses 0x20 bytes
	t.function(0x1200, 0x100, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6)    // has a frame pointer
	t.function(0x1300, 0x100, 0x07, 16)                                  // has no caller
	t.function(0x1400, 0x100, 0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11,  // the linkage table:
		0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22) // 8 more in the last bytes of each 16
	t.function(0x1500, 0x100, 0x0c, 3, 16) // a frame at rbx
	t.function(0x1600, 0x100, 0x07, 6, 0x0e, 16)
	t.function(0x1700, 0x100, 0x09, 16, 5) // returns to where rdi says
	t.common("zRS", -8, 16)
	// A signal: the registers are in memory that the stack's pointer leads to.
	t.function(0x18ff, 0x100, 0x0f, 3, 0x77, 0x20, 0x06, 0x10, 7, 2, 0x77, 0x20, 0x10, 6, 2, 0x77, 0x18, 0x10, 3, 2, 0x77, 0x10, 0x10, 16, 2, 0x77, 0x28)
	return t.image(&X86)
}

type walked struct {
	name   string
	r      map[int]uint64
	change func(b []byte)
	want   []uint64 // in the image's terms
	end    stack.End
}

func (c *walked) run(t *testing.T, m *Image, most int, size int) {
	t.Helper()
	b := make([]byte, size)
	c.change(b)
	var r Registers
	r.Set(m.machine.SP, top)
	for n, v := range c.r {
		if n == m.machine.PC || n == m.machine.Link && n != 0 {
			v += bias
		}
		r.Set(n, v)
	}
	w := Walker{Machine: m.machine}
	for range 2 { // the second time from what it remembers
		got, end := w.Walk(&r, b, func(pc uint64) (*Image, uint64, bool) {
			switch off := pc - bias; {
			case off >= 0x1000 && off < 0x2000:
				return m, bias, true
			case off >= 0x2000 && off < 0x3000:
				return nil, 0, true // code without tables
			}
			return nil, 0, false
		}, make([]uint64, 0, most))
		for i := range got {
			got[i] -= bias
		}
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%#x, end %d; want %#x, end %d", got, end, c.want, c.end)
		}
	}
}

func TestWalk(t *testing.T) {
	const pc, fp, bx = 16, 6, 3
	for _, c := range []walked{
		{"a leaf and its caller", map[int]uint64{pc: 0x1010}, func(b []byte) {
			put(b, 0, bias+0x1110)                     // the leaf's
			put(b, 8, 0, 0, 0, 0, 7, bias+0x1300+0x20) // 0x30 bytes, with rbx before the return address
		}, []uint64{0x1010, 0x1110, 0x1320}, stack.Whole},
		{"a call at the end of a function", map[int]uint64{pc: 0x1010}, func(b []byte) {
			put(b, 0, bias+0x1200) // the call was the last instruction of 0x1100
			put(b, 8, 0, 0, 0, 0, 7, bias+0x1320)
		}, []uint64{0x1010, 0x1200, 0x1320}, stack.Whole},
		{"frame pointers saved by an inner function", map[int]uint64{pc: 0x1010}, func(b []byte) {
			put(b, 0, bias+0x1210) // needs rbp, which is not known
		}, []uint64{0x1010, 0x1210}, stack.Broken},
		{"a frame pointer", map[int]uint64{pc: 0x1210, fp: top + 0x40}, func(b []byte) {
			put(b, 0x40, 0, bias+0x1310)
		}, []uint64{0x1210, 0x1310}, stack.Whole},
		{"a frame at another register", map[int]uint64{pc: 0x1110, bx: 5}, func(b []byte) {
			put(b, 0x20, top+0x100, bias+0x1510) // rbx for the caller
			put(b, 0x108, bias+0x1310)
		}, []uint64{0x1110, 0x1510, 0x1310}, stack.Whole},
		{"the linkage table", map[int]uint64{pc: 0x1423}, func(b []byte) {
			put(b, 0, bias+0x1310)
		}, []uint64{0x1423, 0x1310}, stack.Whole},
		{"the linkage table, at the end", map[int]uint64{pc: 0x142c}, func(b []byte) {
			put(b, 8, bias+0x1310)
		}, []uint64{0x142c, 0x1310}, stack.Whole},
		{"a return address in a register", map[int]uint64{pc: 0x1710, 5: bias + 0x1310}, func(b []byte) {},
			[]uint64{0x1710, 0x1310}, stack.Whole},
		{"a signal", map[int]uint64{pc: 0x1010}, func(b []byte) {
			put(b, 0, bias+0x1900)                               // the handler returns to the kernel's way back
			put(b, 8+0x10, 9, top+0x200, top+0x100, bias+0x1200) // rbx, rbp, rsp, and an instruction that begins a function
			put(b, 0x100, bias+0x1110)                           // which has no frame yet
			put(b, 0x108, 0, 0, 0, 0, 0, bias+0x1320)            // and its caller
		}, []uint64{0x1010, 0x1900, 0x1200, 0x1110, 0x1320}, stack.Whole},
		{"a signal with a stack of its own", map[int]uint64{pc: 0x1910}, func(b []byte) {
			put(b, 0x10, 9, top+0x200, top-0x100000, bias+0x1110)
		}, []uint64{0x1910, 0x1110}, stack.Truncated},
		{"no tables, then tables", map[int]uint64{pc: 0x2010, fp: top + 0x20}, func(b []byte) {
			put(b, 0x20, top+0x60, bias+0x1210)
			put(b, 0x60, 0, bias+0x1310)
		}, []uint64{0x2010, 0x1210, 0x1310}, stack.Whole},
		{"frame pointers to their end", map[int]uint64{pc: 0x2010, fp: top + 0x20}, func(b []byte) {
			put(b, 0x20, 0, bias+0x2110)
		}, []uint64{0x2010, 0x2110}, stack.Whole},
		{"no tables and no frame pointer", map[int]uint64{pc: 0x1010, fp: 1}, func(b []byte) {
			put(b, 0, bias+0x2010)
		}, []uint64{0x1010, 0x2010}, stack.Broken},
		{"a frame that is not in code", map[int]uint64{pc: 0x2010, fp: top + 0x20}, func(b []byte) {
			put(b, 0x20, top+0x60, 0x1234)
		}, []uint64{0x2010}, stack.Broken},
		{"a return address that is not in code", map[int]uint64{pc: 0x1010}, func(b []byte) { put(b, 0, 0x1234) }, []uint64{0x1010}, stack.Broken},
		{"returns to nothing", map[int]uint64{pc: 0x1010}, func(b []byte) {}, []uint64{0x1010}, stack.Whole},
		{"beyond the copy", map[int]uint64{pc: 0x1210, fp: top + 0x4000}, func(b []byte) {}, []uint64{0x1210}, stack.Truncated},
		{"a frame pointer beyond the copy", map[int]uint64{pc: 0x2010, fp: top + 0x4000}, func(b []byte) {}, []uint64{0x2010}, stack.Truncated},
		{"a frame below the stack", map[int]uint64{pc: 0x1210, fp: top - 0x40}, func(b []byte) {}, []uint64{0x1210}, stack.Broken},
		{"a caller below its called function", map[int]uint64{pc: 0x1110}, func(b []byte) {
			put(b, 0x20, top-0x10, bias+0x1510) // the frame is where rbx points
			put(b, 0x28, bias+0x1510)
		}, []uint64{0x1110, 0x1510}, stack.Broken},
		{"nowhere", map[int]uint64{pc: 0x5000}, func(b []byte) {}, []uint64{0x5000}, stack.Broken},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, program(), 10, 0x1000) })
	}
}

// A stack is walked to the depth that the caller has room for.
func TestWalkIsBounded(t *testing.T) {
	c := walked{r: map[int]uint64{16: 0x1010}, end: stack.Truncated, want: []uint64{0x1010}}
	for len(c.want) < 20 {
		c.want = append(c.want, 0x1020)
	}
	c.change = func(b []byte) {
		for i := range len(b) / 8 {
			put(b, uint64(8*i), bias+0x1020)
		}
	}
	c.run(t, program(), 20, 0x1000)
	c.want = c.want[:1+4]
	c.run(t, program(), 20, 4*8) // and no further than the copy
}

// TestWalkOnARM walks as on arm64: calls leave the return address in a register, which may be
// signed, and a signal's registers are where the kernel writes them.
func TestWalkOnARM(t *testing.T) {
	const pc, fp, link = 32, 29, 30
	const signed = 0x2a << 49
	made := &tables{}
	made.common("zR", -8, 30, 0x0c, 31, 0)
	made.function(0x1000, 0x100)                                                                 // a leaf
	made.function(0x1100, 0x100, 0x41, 0x0e, 0x20, 0x9d, 4, 0x9e, 3)                             // saves x29 and x30
	made.function(0x1200, 0x100, 0x41, 0x2d, 0x41, 0x0e, 0x20, 0x9d, 4, 0x9e, 3, 0x0c, 29, 0x20) // signed; its frame is at x29
	made.function(0x1300, 0x100, 0x07, 30)                                                       // has no caller
	made.common("zRS", -8, 30, 0x0c, 29, 0)
	made.function(0x18fc, 0x100, 0x9d, 0, 0x9e, 0x7f)
	m := made.image(&ARM)
	for _, c := range []walked{
		{"a leaf", map[int]uint64{pc: 0x1010, link: 0x1110}, func(b []byte) {
			put(b, 0, top+0x100, bias+0x1320)
		}, []uint64{0x1010, 0x1110, 0x1320}, stack.Whole},
		{"a signed leaf", map[int]uint64{pc: 0x1010, link: 0x1320 + signed}, func(b []byte) {}, []uint64{0x1010, 0x1320}, stack.Whole},
		{"signed", map[int]uint64{pc: 0x1110, link: 0x1110}, func(b []byte) {
			put(b, 0, top+0x100, bias+0x1210+signed)
			put(b, 0x100, 0, bias+0x1310+signed)
		}, []uint64{0x1110, 0x1210, 0x1310}, stack.Whole},
		{"a caller that has not saved where it returns to", map[int]uint64{pc: 0x1010, link: 0x1020}, func(b []byte) {}, []uint64{0x1010, 0x1020}, stack.Broken},
		{"an unknown register", map[int]uint64{pc: 0x1010}, func(b []byte) {}, []uint64{0x1010}, stack.Broken},
		{"a signal", map[int]uint64{pc: 0x1010, link: 0x1900}, func(b []byte) {
			put(b, 312+8*29, top+0x500, bias+0x1110, top+0x400, bias+0x1000) // of a leaf's first instruction
			put(b, 0x400, top+0x500, bias+0x1320)
		}, []uint64{0x1010, 0x1900, 0x1000, 0x1110, 0x1320}, stack.Whole},
		{"no tables", map[int]uint64{pc: 0x2010, fp: top + 0x20}, func(b []byte) {
			put(b, 0x20, top+0x60, bias+0x1210+signed)
			put(b, 0x60, 0, bias+0x1310)
		}, []uint64{0x2010, 0x1210, 0x1310}, stack.Whole},
		{"no tables, then a frame at the stack's pointer", map[int]uint64{pc: 0x2010, fp: top + 0x20}, func(b []byte) {
			put(b, 0x20, top+0x60, bias+0x1110)
		}, []uint64{0x2010, 0x1110}, stack.Broken},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, m, 10, 0x1000) })
	}
}

// Rows that are remembered cost no allocation.
func TestWalkAllocatesNothing(t *testing.T) {
	m := program()
	b := make([]byte, 0x1000)
	for i := range len(b) / 8 {
		put(b, uint64(8*i), bias+0x1020)
	}
	var r Registers
	r.Set(X86.SP, top)
	r.Set(X86.PC, bias+0x1010)
	w := Walker{Machine: &X86}
	frames := make([]uint64, 0, 100)
	find := func(uint64) (*Image, uint64, bool) { return m, bias, true }
	if n := testing.AllocsPerRun(10, func() { w.Walk(&r, b, find, frames) }); n > 0 {
		t.Errorf("a walk allocates %.0f times", n)
	}
}

func BenchmarkWalk(b *testing.B) {
	m := program()
	copied := make([]byte, 0x1000)
	for i := range len(copied) / 8 {
		put(copied, uint64(8*i), bias+0x1020)
	}
	var r Registers
	r.Set(X86.SP, top)
	r.Set(X86.PC, bias+0x1010)
	w := Walker{Machine: &X86}
	frames := make([]uint64, 0, 100)
	find := func(uint64) (*Image, uint64, bool) { return m, bias, true }
	n := 0
	for b.Loop() {
		got, _ := w.Walk(&r, copied, find, frames)
		n += len(got)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/frame")
}

// BenchmarkRow is the cost of a frame that is met for the first time.
func BenchmarkRow(b *testing.B) {
	m := program()
	p := programs{}
	for b.Loop() {
		p.steps = maxSteps
		f, _ := m.find(0x1120)
		p.row(&f, 0x1120)
	}
}
