package symbol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func perfMap(t testing.TB, text string, before *PerfMap, most int) *PerfMap {
	t.Helper()
	m, err := ReadPerfMap(strings.NewReader(text), int64(len(text)), before, most)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPerfMap(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[uint64]string
	}{
		"Node": {"3f8a1000 40 JS:*fib /home/a b/fib.js:3:5\n3f8a1040 20 JS:~loop /x.js:1:1\n",
			map[uint64]string{0x3f8a0fff: "", 0x3f8a1000: "JS:*fib /home/a b/fib.js:3:5", 0x3f8a103f: "JS:*fib /home/a b/fib.js:3:5", 0x3f8a1040: "JS:~loop /x.js:1:1", 0x3f8a1060: ""}},
		"Python":        {"7f02a28c400b b py::_find_and_load:<frozen importlib._bootstrap>\n", map[uint64]string{0x7f02a28c400c: "py::_find_and_load:<frozen importlib._bootstrap>"}},
		"not in order":  {"2000 10 b\n1000 10 a\n", map[uint64]string{0x1001: "a", 0x2001: "b"}},
		"Java":          {"0x0000000000001000 0x0000000000000010 int shop.Order.total(int)\r\n", map[uint64]string{0x100f: "int shop.Order.total(int)", 0x1010: ""}},
		"made anew":     {"1000 100 old\n1000 10 new\n", map[uint64]string{0x1000: "new", 0x100f: "new", 0x1010: ""}},
		"over another":  {"1000 100 old\n1080 10 new\n", map[uint64]string{0x107f: "old", 0x1080: "new", 0x108f: "new", 0x1090: "old"}},
		"below another": {"1080 100 old\n1000 100 new\n", map[uint64]string{0x1080: "new", 0x10ff: "new", 0x1100: "old"}},
		"not finished":  {"1000 10 a\n2000 10 b", map[uint64]string{0x1001: "a", 0x2001: ""}},
		"no lines": {"\n \nx\n1000\n1000 10\n1000 10 \n1000  10 a\n1000 0 a\n1000 fffffffff a\n-1 10 a\n" +
			"ffffffffffffffff 10 a\n10000000000000000 10 a\n g 10 a\n2000 10 b\n", map[uint64]string{0x1001: "", 0x2001: "b"}},
		"control characters": {"1000 10 a\x1b[2Jb\x00c\x85\xffd\n", map[uint64]string{0x1001: "a?[2Jb?c\ufffdd"}},
		"a long name":        {"1000 10 " + strings.Repeat("x", 2000) + "\n", map[uint64]string{0x1001: strings.Repeat("x", maxMapName)}},
		"a long line":        {"1000 10 a\n3000 10 " + strings.Repeat("x", 3*maxMapLine) + "\n2000 10 b\n", map[uint64]string{0x1001: "a", 0x3001: "", 0x2001: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := perfMap(t, c.text, nil, 1<<20)
			for at, want := range c.want {
				if got, ok := m.Find(at); got != want || ok != (want != "") {
					t.Errorf("%x is %q, %v, want %q", at, got, ok, want)
				}
			}
		})
	}
}

// What is appended is read, and nothing twice.
func TestPerfMapGrows(t *testing.T) {
	texts := []string{"1000 10 a\n20", "00 10 b\n1000 10 c\n", "", "1008 4 d\n"}
	text := ""
	var m *PerfMap
	for i, more := range texts {
		from := int64(0)
		if m != nil {
			from = m.read
		}
		text += more
		r := readAtLeast{strings.NewReader(text), from}
		var err error
		if m, err = ReadPerfMap(r, int64(len(text)), m, 1<<20); err != nil {
			t.Fatal(err)
		}
		want := []map[uint64]string{{0x1001: "a", 0x2001: ""}, {0x1001: "c", 0x2001: "b"}, {0x1001: "c"}, {0x1009: "d", 0x100c: "c"}}[i]
		for at, name := range want {
			if got, _ := m.Find(at); got != name {
				t.Errorf("after %d: %x is %q, want %q", i, at, got, name)
			}
		}
	}
	// A program that began its text anew has given up what it wrote before.
	if m = perfMap(t, "4000 8 e\n", m, 1<<20); m.Bytes() > 64 {
		t.Errorf("%d bytes are left of what was there before", m.Bytes())
	}
}

// readAtLeast refuses to read before from.
type readAtLeast struct {
	r    io.ReaderAt
	from int64
}

func (r readAtLeast) ReadAt(b []byte, off int64) (int, error) {
	if off < r.from {
		return 0, fmt.Errorf("%d is read again, after %d", off, r.from)
	}
	return r.r.ReadAt(b, off)
}

// Of too many functions the last are kept.
func TestPerfMapIsBounded(t *testing.T) {
	const most = 64 << 10
	var text bytes.Buffer
	var m *PerfMap
	for i := range 40_000 {
		fmt.Fprintf(&text, "%x 10 function %d\n", 0x1000+0x10*i, i)
		if i%13_000 == 12_999 || i == 39_999 {
			m = perfMap(t, text.String(), m, most)
			if m.Bytes() > most {
				t.Errorf("%d bytes", m.Bytes())
			}
		}
	}
	for i, want := range map[int]string{0: "", 39_999: "function 39999", 39_500: "function 39500"} {
		if got, _ := m.Find(uint64(0x1000 + 0x10*i)); got != want {
			t.Errorf("%d is %q, want %q", i, got, want)
		}
	}
}

// Of a very long text the end is read, from the beginning of a line.
func TestLongPerfMap(t *testing.T) {
	const size = maxMapText + 1<<20
	text := []byte("1000 10 first\n" + strings.Repeat("x", size))
	copy(text[len(text)-maxMapText-8:], "\n1000 10 cut 2000 10 half\n3000 10 whole\n")
	copy(text[len(text)-10:], "\n4000 8 z\n")
	m, err := ReadPerfMap(bytes.NewReader(text), int64(len(text)), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[uint64]string{0x1001: "", 0x2001: "", 0x3001: "whole", 0x4001: "z"} {
		if got, _ := m.Find(at); got != want {
			t.Errorf("%x is %q, want %q", at, got, want)
		}
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errors.New("the disk is gone") }

func TestPerfMapThatCannotBeRead(t *testing.T) {
	if m, err := ReadPerfMap(failing{}, 100, nil, 1<<20); err == nil || m != nil {
		t.Errorf("%v, %v", m, err)
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("1000 10 a\n1008 10 b\n800 1000 c\n"), uint64(0x1009), 10)
	f.Add([]byte("0x1000 0x10 \x1b]0;x\a\n1000"), uint64(0x1000), 3)
	f.Fuzz(func(t *testing.T, text []byte, address uint64, cut int) {
		const most = 4 << 10
		cut = min(max(cut, 0), len(text))
		first, err := ReadPerfMap(bytes.NewReader(text[:cut]), int64(cut), nil, most)
		if err != nil {
			t.Fatal(err)
		}
		both, err := ReadPerfMap(bytes.NewReader(text), int64(len(text)), first, most)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*PerfMap{first, both} {
			name, ok := m.Find(address)
			if ok == (name == "") || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || m.Bytes() > most+maxMapName+16 {
				t.Errorf("%q, %v; %d bytes", name, ok, m.Bytes())
			}
		}
	})
}
