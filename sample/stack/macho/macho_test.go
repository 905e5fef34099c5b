package macho

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// space is the memory of a process, in pieces.
type space map[uint64][]byte

func (s space) Read(addr uint64, b []byte) bool {
	for at, piece := range s {
		if addr >= at && addr-at <= uint64(len(piece)) && uint64(len(piece))-(addr-at) >= uint64(len(b)) {
			copy(b, piece[addr-at:])
			return true
		}
	}
	return false
}

var le = binary.LittleEndian

// program builds an image with 0x4000 bytes of text at load. Its own addresses begin at
// base, and its __LINKEDIT follows the text.
func program(base, load uint64, functions map[string]uint32, starts ...uint32) []byte {
	const text, link = 0x4000, 0x4000
	b := make([]byte, text+link)
	le.PutUint32(b, magic64)
	le.PutUint32(b[24:], 0x85)
	at := headerSize
	command := func(kind uint32, body []byte) {
		le.PutUint32(b[at:], kind)
		le.PutUint32(b[at+4:], uint32(8+len(body)))
		copy(b[at+8:], body)
		at += 8 + len(body)
		le.PutUint32(b[16:], le.Uint32(b[16:])+1)
		le.PutUint32(b[20:], uint32(at-headerSize))
	}
	segment := func(name string, addr, size, off uint64, sections ...byte) {
		body := append(make([]byte, segmentSize-8), sections...)
		copy(body, name)
		le.PutUint64(body[16:], addr)
		le.PutUint64(body[24:], size)
		le.PutUint64(body[32:], off)
		command(cmdSegment, body)
	}
	words := func(v ...uint32) (out []byte) {
		for _, w := range v {
			out = le.AppendUint32(out, w)
		}
		return out
	}
	unwind := make([]byte, 2*sectionSize)
	copy(unwind, "__text")
	copy(unwind[sectionSize:], "__unwind_info")
	le.PutUint64(unwind[sectionSize+32:], base+text-0x100)
	le.PutUint64(unwind[sectionSize+40:], 0x100)
	copy(b[text-0x100:], "to unwind")
	segment("__TEXT", base, text, 0, unwind...)
	segment("__LINKEDIT", base+text, link, 0x10000)
	command(cmdUUID, []byte("\xaa\xbb\xcc\xdd\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb"))
	const strings, fstarts = 0x1000, 0x2000
	command(cmdSymtab, words(0x10000, uint32(len(functions)), 0x10000+strings, 0x1000))
	i, to := 0, 1
	for name, offset := range functions {
		e := b[text+i*nlistSize:]
		le.PutUint32(e, uint32(to))
		e[4] = typeSection | 1
		le.PutUint64(e[8:], base+uint64(offset))
		to += copy(b[text+strings+to:], name) + 1
		i++
	}
	n, last := 0, uint32(0)
	for _, s := range starts {
		n += binary.PutUvarint(b[text+fstarts+n:], uint64(s-last))
		last = s
	}
	command(cmdStarts, words(0x10000+fstarts, uint32(n+1)))
	return b
}

const load = 0x104a30000

func TestHeader(t *testing.T) {
	mem := space{load: program(0x100000000, load, nil)}
	h, ok := ReadHeader(mem, load)
	if !ok || h.UUID != "AABBCCDD-0011-2233-4455-66778899AABB" || h.Size != 0x4000 || h.Cache || h.slide != 0x4a30000 || h.link != (span{load + 0x4000, 0x4000}) {
		t.Errorf("%v: %+v", ok, h)
	}
	if h.Python != 0 {
		t.Errorf("it has no Python: %x", h.Python)
	}
	for name, change := range map[string]func(b []byte){
		"no magic":                    func(b []byte) { b[0]++ },
		"endless commands":            func(b []byte) { le.PutUint32(b[20:], 1<<30) },
		"commands beyond the memory":  func(b []byte) { le.PutUint32(b[20:], 0x8001) },
		"a command of no length":      func(b []byte) { le.PutUint32(b[headerSize+4:], 0) },
		"a command longer than there": func(b []byte) { le.PutUint32(b[headerSize+4:], 1<<31) },
		"no text":                     func(b []byte) { b[headerSize+8]++ },
		"text up to the end of all":   func(b []byte) { le.PutUint64(b[headerSize+32:], 1<<64-1) },
	} {
		b := program(0x100000000, load, nil)
		change(b)
		if h, ok := ReadHeader(space{load: b}, load); ok {
			t.Errorf("%s: taken for an image: %+v", name, h)
		}
	}
}

// Unwind information is read if it is in the text, and the budget allows it.
func TestUnwind(t *testing.T) {
	good := program(0x100000000, load, nil)
	for _, c := range []struct {
		name   string
		change func(h *Header)
		budget int
		want   string
	}{
		{"all", func(*Header) {}, 0x100, "to unwind"},
		{"too much", func(*Header) {}, 0xff, ""},
		{"none", func(h *Header) { h.unwind = span{} }, 0x100, ""},
		{"before the text", func(h *Header) { h.unwind.at = load - 8 }, 0x100, ""},
		{"behind the text", func(h *Header) { h.unwind.at += 8 }, 0x100, ""},
		{"without end", func(h *Header) { h.unwind.size = 1<<64 - 1 }, 0x100, ""},
	} {
		h, _ := ReadHeader(space{load: good}, load)
		c.change(&h)
		budget := Budget{Unwind: c.budget}
		b := h.ReadUnwind(space{load: good}, &budget)
		if got := strings.TrimRight(string(b), "\x00"); got != c.want || budget.Unwind != c.budget-len(b) {
			t.Errorf("%s: %q, %d left; want %q", c.name, got, budget.Unwind, c.want)
		}
	}
}

// The section of Python's state is found, in whichever place among the others.
func TestPythonSection(t *testing.T) {
	with := func(sections ...string) []byte {
		b := program(0x100000000, load, nil)
		at, size := headerSize+int(le.Uint32(b[20:])), segmentSize+sectionSize*len(sections)
		command := b[at:]
		le.PutUint32(command, cmdSegment)
		le.PutUint32(command[4:], uint32(size))
		copy(command[8:], "__DATA")
		le.PutUint32(command[64:], uint32(len(sections)))
		for i, name := range sections {
			s := command[segmentSize+i*sectionSize:]
			copy(s, name)
			le.PutUint64(s[32:], 0x100008000+uint64(i)*0x100)
		}
		le.PutUint32(b[20:], uint32(at-headerSize+size))
		return b
	}
	for want, b := range map[uint64][]byte{
		0: with("__data", "__bss"), load + 0x8000: with("PyRuntime"), load + 0x8100: with("__data", "PyRuntime", "__bss"),
	} {
		if h, ok := ReadHeader(space{load: b}, load); !ok || h.Python != want {
			t.Errorf("%v, %x, want %x", ok, h.Python, want)
		}
	}
	b := with("PyRuntime")
	le.PutUint32(b[headerSize+int(le.Uint32(b[20:]))-sectionSize-segmentSize+64:], 1<<31) // more sections than there are
	if h, ok := ReadHeader(space{load: b}, load); !ok || h.Python != load+0x8000 {
		t.Errorf("%v, %x", ok, h.Python)
	}
}

// Functions and variables of an image are found by name.
func TestEachSymbol(t *testing.T) {
	mem := space{load: program(0x100000000, load, map[string]uint32{"_main": 0x1000, "__PyRuntime": 0x9000, "Go": 0x20})}
	h, _ := ReadHeader(mem, load)
	got := make(map[string]uint64)
	if !h.EachSymbol(mem, &Budget{Symbols: 3}, func(name string, address uint64) { got[name] = address - load }) ||
		fmt.Sprint(got) != fmt.Sprint(map[string]uint64{"main": 0x1000, "_PyRuntime": 0x9000, "Go": 0x20}) {
		t.Errorf("%x", got)
	}
	if h.EachSymbol(mem, &Budget{Symbols: 2}, func(string, uint64) { t.Error("beyond the budget") }) {
		t.Error("more than the budget")
	}
}

func TestSymbols(t *testing.T) {
	functions := map[string]uint32{"_main": 0x1000, "_work": 0x1100, "_last": 0x3000}
	for _, c := range []struct {
		name   string
		starts []uint32
		want   string // of the offsets below
	}{
		{"as far as the next name", nil, "- main main work work last"},
		{"a function without a name is between", []uint32{0x1000, 0x1080, 0x1100, 0x2000, 0x3000}, "- main - work - last"},
	} {
		mem := space{load: program(0x100000000, load, functions, c.starts...)}
		h, _ := ReadHeader(mem, load)
		s := h.ReadSymbols(mem, &Budget{Symbols: 100})
		var got []string
		for _, offset := range []uint64{0xfff, 0x1000, 0x10ff, 0x1180, 0x2fff, 0x3fff} {
			n := s.Name(mem, offset)
			if n == "" {
				n = "-"
			}
			got = append(got, n)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A table that is larger than the rest of the budget is not read.
func TestSymbolsStayInTheBudget(t *testing.T) {
	functions := map[string]uint32{}
	for i := range 50 {
		functions[fmt.Sprint("_f", i)] = uint32(i * 16)
	}
	mem := space{load: program(0, load, functions)}
	h, _ := ReadHeader(mem, load)
	budget := Budget{Symbols: 70}
	if s := h.ReadSymbols(mem, &budget); s == nil || budget.Symbols != 20 {
		t.Errorf("%v, %d left", s, budget.Symbols)
	}
	if s := h.ReadSymbols(mem, &budget); s != nil || budget.Symbols != 20 {
		t.Errorf("%v, %d left", s, budget.Symbols)
	}
}

func TestList(t *testing.T) {
	infos := make([]byte, 368)
	le.PutUint32(infos[4:], 2)
	le.PutUint64(infos[8:], 0x3000)
	le.PutUint64(infos[32:], 0x1e0000000)
	le.PutUint64(infos[152:], 0x4c4000)
	le.PutUint64(infos[160:], 0xaa)
	le.PutUint64(infos[184:], 77)
	le.PutUint64(infos[192:], 0x4100)
	array := make([]byte, 48)
	le.PutUint64(array, load)
	le.PutUint64(array[8:], 0x4ff0)
	le.PutUint64(array[24:], load+0x100000)
	names := make([]byte, 0x2000)
	copy(names[0xff0:], "/Applications/App.app/Contents/MacOS/App")
	copy(names[0x100:], "/usr/lib/dyld")
	mem := space{0x2000: infos, 0x3000: array, 0x4000: names}
	in, ok := ReadInfos(mem, 0x2000, uint64(len(infos)))
	if !ok || in.Changed != 77 || in.CacheUUID != "AA000000-0000-0000-0000-000000000000" || in.CacheSlide != 0x4c4000 {
		t.Fatalf("%v, %+v", ok, in)
	}
	list, ok := in.List(mem, nil)
	if !ok || fmt.Sprintf("%x", list) != "[{104a30000 4ff0} {104b30000 0} {1e0000000 4100}]" {
		t.Fatalf("%v, %x", ok, list)
	}
	for _, c := range []struct {
		at   uint64
		want string
	}{{list[0].Path, "/Applications/App.app/Contents/MacOS/App"}, {list[1].Path, ""}, {list[2].Path, "/usr/lib/dyld"}, {0x9000, ""}} {
		if s, _ := Text(mem, c.at, 1024); s != c.want {
			t.Errorf("%#x: %q, want %q", c.at, s, c.want)
		}
	}
	if s, ok := Text(mem, list[0].Path, 39); ok {
		t.Errorf("longer than may be: %q", s)
	}
	in.Array = 0
	if _, ok := in.List(mem, nil); ok {
		t.Error("a list that is being changed was read")
	}
	in.Array, in.Count = 0x3000, MaxImages+1
	if _, ok := in.List(mem, nil); ok {
		t.Error("a list without end was read")
	}
}

func TestCache(t *testing.T) {
	const base, own = 0x1844c4000, 0x180000000
	b := make([]byte, 0x1000)
	copy(b, "dyld_v1  arm64e")
	copy(b[88:], "\x11\x11\x11\x11\x22\x22\x33\x33\x44\x44\x55\x55\x55\x55\x55\x55")
	le.PutUint64(b[136:], 0x200)
	le.PutUint64(b[144:], 1)
	le.PutUint64(b[224:], own)
	b[0x200] = 0x0a
	le.PutUint64(b[0x210:], own+0x400000)
	le.PutUint32(b[0x218:], 0x3c000)
	le.PutUint32(b[0x21c:], 0x300)
	copy(b[0x300:], "/usr/lib/system/libsystem_kernel.dylib")
	uuid, images, ok := ReadCache(space{base: b}, base)
	if !ok || uuid != "11111111-2222-3333-4444-555555555555" ||
		fmt.Sprintf("%x", images) != fmt.Sprintf("%x", []Cached{{"0A000000-0000-0000-0000-000000000000", "/usr/lib/system/libsystem_kernel.dylib", base + 0x400000, 0x3c000}}) {
		t.Errorf("%v %s %x", ok, uuid, images)
	}
	le.PutUint64(b[144:], 1<<60)
	if _, _, ok := ReadCache(space{base: b}, base); ok {
		t.Error("a table without end was read")
	}
}

// Reading ends whatever memory contains, and returns nothing from outside of it.
func FuzzImage(f *testing.F) {
	f.Add(program(0x100000000, load, map[string]uint32{"_main": 0x1000, "_work": 0x1100}, 0x1000, 0x1080, 0x1100), uint64(0x1010))
	f.Add([]byte("dyld_v1  arm64e"), uint64(8))
	f.Fuzz(func(t *testing.T, b []byte, offset uint64) {
		mem := space{load: b}
		if h, ok := ReadHeader(mem, load); ok {
			sought := Budget{Symbols: 1000}
			h.EachSymbol(mem, &sought, func(name string, _ uint64) {
				if len(name) > maxSought || sought.Symbols < 0 {
					t.Errorf("%q, %d left", name, sought.Symbols)
				}
			})
			budget := Budget{Symbols: 1000, Unwind: 1000}
			if s := h.ReadSymbols(mem, &budget); s != nil {
				if len(s.defined)+len(s.starts) > 1000 || budget.Symbols < 0 {
					t.Errorf("%d symbols, %d starts, %d left", len(s.defined), len(s.starts), budget.Symbols)
				}
				if n := s.Name(mem, offset); len(n) > Longest {
					t.Errorf("a name of %d bytes", len(n))
				}
				if b := h.ReadUnwind(mem, &budget); len(b) > 1000 || budget.Unwind < 0 {
					t.Errorf("%d bytes of unwind information, %d left", len(b), budget.Unwind)
				}
				if start, ok := s.Function(offset); ok && (start > offset || start >= h.Size) {
					t.Errorf("%#x is in a function at %#x", offset, start)
				}
			}
		}
		if in, ok := ReadInfos(mem, load, 368); ok {
			if list, _ := in.List(mem, nil); len(list) > MaxImages+1 {
				t.Errorf("%d images", len(list))
			}
		}
		if _, images, _ := ReadCache(mem, load); len(images) > MaxImages {
			t.Errorf("%d images in the cache", len(images))
		}
	})
}
