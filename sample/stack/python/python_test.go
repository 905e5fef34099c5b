package python

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/stack"
)

var minors = []int{11, 12, 13, 14}

func TestStack(t *testing.T) {
	for _, minor := range minors {
		m := program(minor)
		p, err := m.open()
		if err != nil {
			t.Fatal(minor, err)
		}
		if p.layout.minor != minor {
			t.Errorf("3.%d is taken for 3.%d", minor, p.layout.minor)
		}
		const want = "größe /srv/app.py:20,20; größe /srv/app.py:22,20 |; Outer.run /srv/app.py:10,10 |; "
		for range 2 { // The second time it is remembered.
			places, err := p.Stack(7, nil)
			if got := text(places); got != want || err != nil {
				t.Errorf("3.%d: %s, %v", minor, got, err)
			}
		}
		if places, err := p.Stack(8, nil); len(places) != 0 || err != nil {
			t.Errorf("3.%d: a thread in no function: %v, %v", minor, places, err)
		}
		if places, err := p.Stack(9, nil); len(places) != 0 || err == nil {
			t.Errorf("3.%d: no such thread: %v, %v", minor, places, err)
		}
	}
}

// Code that is freed may have other code at its address.
func TestCodeIsReused(t *testing.T) {
	for _, minor := range minors {
		m := program(minor)
		p, _ := m.open()
		places, _ := p.Stack(7, nil)
		for at := range p.codes {
			m.put(at, m.layout.qualified, m.string("another", 0))
			m.put(at, m.layout.file, m.string("b.py", 0))
		}
		if places, err := p.Stack(7, places[:0]); err != nil || strings.Count(text(places), "another b.py:") != 3 {
			t.Errorf("3.%d: %s, %v", minor, text(places), err)
		}
	}
}

func TestWhatIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		make func() *made
		want string
	}{
		"no memory":      {func() *made { return &made{base: base, minor: 12} }, "cannot be read"},
		"too old":        {func() *made { m := newMade(12); m.minor = 10; return m }, "this is Python 3.10, and 3.11 to 3.14 are read"},
		"too new":        {func() *made { m := newMade(14); m.put(m.runtime, 8, 0x03100000); return m }, "this is Python 3.16"},
		"another two":    {func() *made { m := newMade(13); m.put(m.runtime, 8, 0x02070000); return m }, "table of offsets"},
		"free-threaded":  {func() *made { m := newMade(13); m.put(m.runtime, 16, 1); return m }, "free-threaded Python is not read"},
		"another table":  {func() *made { m := newMade(14); m.put(m.runtime, 8*51, 16); return m }, "table of offsets"},
		"a huge thread":  {func() *made { m := newMade(13); m.put(m.runtime, 8*25, 1<<40); return m }, "table of offsets"},
		"a huge frame":   {func() *made { m := newMade(13); m.put(m.runtime, 8*33, 257); return m }, "table of offsets"},
		"a huge header":  {func() *made { m := newMade(13); m.put(m.runtime, 8*70, 1<<20); return m }, "table of offsets"},
		"a lock at -1":   {func() *made { m := newMade(13); m.put(m.runtime, 8*17, 0); return m }, "table of offsets"},
		"no known minor": {func() *made { m := newMade(11); m.minor = 0; return m }, "this is Python 3.0"},
	} {
		if _, err := c.make().open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever the memory has, the reader comes to an end, soon.
func TestHostileMemory(t *testing.T) {
	for _, minor := range minors {
		for name, spoil := range map[string]func(m *made, state uint64){
			"threads in a circle": func(m *made, state uint64) {
				m.put(state, m.layout.nativeID, 1)
				m.put(state, m.layout.nextThread, state)
			},
			"interpreters in a circle": func(m *made, state uint64) {
				m.put(m.interpreter(), m.layout.nextInterpreter, m.interpreter())
				m.put(state, m.layout.nativeID, 1)
			},
			"frames in a circle": func(m *made, state uint64) {
				file := m.string("x", 0)
				at := m.frame(m.function(file, file, 1, nil), 0, 0, 0)
				m.put(at, m.layout.previous, at)
				current(m, state, at)
			},
			"loops in a circle": func(m *made, state uint64) {
				at := m.room(96)
				m.b[at+m.layout.owner-m.base] = ownedByInterpreter
				m.put(at, m.layout.previous, at)
				current(m, state, at)
			},
			"a name of ages": func(m *made, state uint64) {
				name := m.string("a name", 0)
				m.put(name, stringLength, 1<<39)
				current(m, state, m.frame(m.function(name, name, 1, nil), 0, 0, 0))
			},
			"no code": func(m *made, state uint64) { current(m, state, m.frame(m.string("", 0), 0, 0, 0)) },
		} {
			m := program(minor)
			spoil(m, binary.LittleEndian.Uint64(m.b[m.interpreter()+m.layout.threads-m.base:]))
			p, err := m.open()
			if err != nil {
				t.Fatal(err)
			}
			places, err := p.Stack(8, nil)
			if len(places) > maxFrames || m.reads > 8*maxThreads {
				t.Errorf("3.%d, %s: %d places, %d reads, %v", minor, name, len(places), m.reads, err)
			}
		}
	}
}

// current lets a thread be in a frame.
func current(m *made, state, frame uint64) {
	if m.layout.minor <= 12 {
		m.put(binary.LittleEndian.Uint64(m.b[state+m.layout.current-m.base:]), m.layout.frame, frame)
		return
	}
	m.put(state, m.layout.current, frame)
}

func TestStrings(t *testing.T) {
	for _, minor := range minors {
		m := newMade(minor)
		p, err := m.open()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			kind       int
			text, want string
		}{
			{0, "", ""}, {0, "main", "main"}, {1, "café", "café"}, {2, "größe → ∞", "größe → ∞"}, {4, "🐍 snake", "🐍 snake"},
			{2, strings.Repeat("→", 20), strings.Repeat("→", 16) + "…"}, {0, "a\x1b[31m", "a\ufffd[31m"}, {1, "\u009b", "\ufffd"}, {4, "\U0010ffff", "\U0010ffff"},
		} {
			if got, ok := p.string(m.string(c.text, c.kind), 16); got != c.want || !ok {
				t.Errorf("3.%d: %q, %v, want %q", minor, got, ok, c.want)
			}
		}
		if got, ok := p.string(m.string("half", 3), 16); ok {
			t.Errorf("%q", got)
		}
		wrong := m.string("x", 4)
		m.put32(wrong, m.layout.compact, 1<<31)
		if got, ok := p.string(wrong, 16); got != "\ufffd" || !ok {
			t.Errorf("no character: %q", got)
		}
	}
}

func TestLines(t *testing.T) {
	table := []byte{
		0x80, 0x12, // a unit on the same line
		0x80 | (oneLine+1)<<3 | 3, 1, 2, // four on the next
		0x80 | noColumns<<3, 0x40 | 0x0a, 0x02, // (2<<6|10)/2 = 69 lines further
		0x80 | long<<3 | 1, 3, 0, 1, 1, // one line back
		0x80 | noLine<<3,
		0x80 | noColumns<<3 | 7, // a number is missing
	}
	for offset, want := range map[uint64]int{
		0: 100, 1: 100, 2: 101, 9: 101, 10: 170, 12: 169, 15: 169, 16: 0, 18: 169, 100: 0, 1 << 63: 0, none: 0,
	} {
		if got := lineAt(table, 100, offset); got != want {
			t.Errorf("%d is on line %d, want %d", offset, got, want)
		}
	}
}

func TestLock(t *testing.T) {
	for _, minor := range minors {
		m := program(minor)
		holder := m.thread(9, 0)
		at := m.lock(holder, 0)
		p, err := m.open()
		if err != nil {
			t.Fatal(err)
		}
		for locked, want := range map[uint32]uint64{0: 0, 1: 9, 1<<32 - 1: 0} {
			m.lock(holder, locked)
			if minor > 11 {
				at = binary.LittleEndian.Uint64(m.b[m.interpreter()+m.layout.lock-m.base:])
			}
			if lock, ok := p.Lock(8); !ok || lock.From != at || lock.To <= at || lock.Holder != want {
				t.Errorf("3.%d: %+v, %v, want %d", minor, lock, ok, want)
			}
		}
		if _, ok := p.Lock(1); ok {
			t.Error("the lock of a thread that does not exist")
		}
	}
}

func TestSplice(t *testing.T) {
	at, libc, elsewhere := &stack.Image{Path: "/usr/lib/libpython3.12.so"}, &stack.Image{Path: "/lib/libc.so.6"}, &stack.Image{Path: "/x"}
	const loop, start, size = 0x1000, 0x2000, 0x100
	natives := map[string]stack.Frame{
		"loop": {Image: at, Address: loop + size/2}, "end": {Image: at, Address: loop + size}, "c": {Image: at, Address: 0x3000},
		"_start": {Image: at, Address: start + 8}, "libc": {Image: libc, Address: 1}, "x": {Image: elsewhere, Address: loop + 8},
		"nowhere": {Address: loop + 8}, "read[k]": {Kernel: true, Image: at, Address: loop},
	}
	for name, f := range natives {
		f.Name = name
		natives[name] = f
	}
	for name, c := range map[string]struct {
		native, python, want string // the outermost first; | is where C called
		cut, stripped        bool
	}{
		"one loop":                         {native: "_start c loop", python: "| main f", want: "_start c main f"},
		"under C":                          {native: "_start c loop c libc read[k]", python: "| main f", want: "_start c main f c libc read[k]"},
		"two loops":                        {native: "libc c loop c c loop c", python: "| main f | key", want: "libc c main f c c key c"},
		"returns to the end of the loop":   {native: "_start end c", python: "| main", want: "_start main c"},
		"no program":                       {native: "_start c loop", python: "", want: "_start c loop"},
		"the inner part":                   {native: "c loop c", python: "| main | f | g", want: "main f c g c", cut: true},
		"the inner part, not marked":       {native: "c loop c", python: "| main | f | g", want: "main f c g c"},
		"only a leaf":                      {native: "libc", python: "| main | f g", want: "main f g libc"},
		"called since":                     {native: "_start c loop c", python: "| main | later", want: "_start c main c"},
		"returned since":                   {native: "_start c loop c loop c", python: "| main", want: "_start c main c loop c"},
		"returned since, cut":              {native: "c loop c loop c", python: "| main", want: "c main c loop c", cut: true},
		"no such image":                    {native: "nowhere x", python: "| main", want: "main nowhere x"},
		"no symbols":                       {native: "_start c loop c libc read[k]", python: "| main | f", want: "main f c libc read[k]", stripped: true},
		"no symbols, none of its own code": {native: "x libc", python: "| main", want: "main x libc", stripped: true},
	} {
		m := &Image{loops: []extent{{loop, loop + size}}, start: extent{start, start + size}}
		if c.stripped {
			m = &Image{}
		}
		var native []stack.Frame
		for _, f := range strings.Fields(c.native) {
			native = append(native, natives[f])
		}
		slices.Reverse(native)
		var places []Place
		entry := false
		for _, f := range strings.Fields(c.python) {
			if f == "|" {
				entry = true
				continue
			}
			places = append(places, Place{Name: f, File: "a.py", Line: 2, Start: 1, Entry: entry})
			entry = false
		}
		slices.Reverse(places)
		var got []string
		for _, f := range m.Splice(nil, native, at, !c.cut, places) {
			got = append(got, f.Name)
			if (f.Start == 1) != (f.File == "a.py" && f.Line == 2) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		slices.Reverse(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]int{
		"/usr/bin/python3.11": 11, "/usr/lib/libpython3.12.so.1.0": 12, "libpython3.11d.so": 11, "python3": 0, "python": 0,
		"/x/python3.999": 0, "": 0, "mypython3.11": 0, "/Library/Frameworks/Python.framework/Versions/3.12/Python": 0,
	} {
		if got := minorNamed(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

var update = flag.Bool("update", false, "write the files")

// The simulated Mac has the memory of such a program.
func TestSimulatedMemory(t *testing.T) {
	for _, minor := range []int{12, 14} {
		const at, tid = 0x104010000, 0x751
		name := filepath.Join("..", "mach", "testdata", fmt.Sprintf("python3%d.hex", minor))
		want := hex.EncodeToString(programOf(newMadeAt(at, minor), tid).b)
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s is not current: go test ./sample/stack/python -run TestSimulatedMemory -update writes it (%v)", name, err)
		}
	}
}

// FuzzInterpreter reads memory that may have anything.
func FuzzInterpreter(f *testing.F) {
	for _, minor := range minors {
		f.Add(program(minor).b, uint8(minor))
	}
	f.Fuzz(func(t *testing.T, b []byte, minor uint8) {
		m := &made{base: base, b: b, minor: int(minor), runtime: base}
		p, err := m.open()
		if err != nil {
			return
		}
		for tid := range uint64(16) {
			places, err := p.Stack(tid, nil)
			if len(places) > maxFrames || err != nil && len(places) > 0 {
				t.Fatalf("%d places, %v", len(places), err)
			}
			p.Lock(tid)
		}
		if p.text > maxText || len(p.codes) > maxCodes || len(p.threads) > maxThreads {
			t.Fatalf("%d bytes of text, %d functions, %d threads", p.text, len(p.codes), len(p.threads))
		}
	})
}
