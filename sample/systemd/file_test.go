package systemd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// exported is an entry of an export text.
type exported struct {
	stamp  Stamp
	fields map[string]string
}

// parseExport reads the text that journalctl -o export writes.
func parseExport(t testing.TB, text []byte) (entries []exported) {
	t.Helper()
	e := exported{fields: make(map[string]string)}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if len(line) == 0 {
			entries = append(entries, e)
			e = exported{fields: make(map[string]string)}
			continue
		}
		name, value, is := strings.Cut(string(line), "=")
		if !is {
			n := binary.LittleEndian.Uint64(text)
			value, text = string(text[8:8+n]), text[8+n+1:]
		}
		number, _ := strconv.ParseUint(value, 10, 64)
		switch name {
		case "__CURSOR", "__SEQNUM_ID":
		case "__SEQNUM":
			e.stamp.Seq = number
		case "__REALTIME_TIMESTAMP":
			e.stamp.Received = number
		case "__MONOTONIC_TIMESTAMP":
			e.stamp.Monotonic = number
		case "_BOOT_ID":
			e.stamp.Boot, _ = parseID(value)
			e.fields[name] = value
		default:
			if _, twice := e.fields[name]; !twice {
				e.fields[name] = value
			}
		}
	}
	return entries
}

// unpacked returns a fixture.
func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if text, err = d.DecodeAll(text, nil); err != nil {
		t.Fatal(err)
	}
	return text
}

func fixtures(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.journal.zst")
	if err != nil || len(paths) != 9 {
		t.Fatalf("%q, %v", paths, err)
	}
	return paths
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFixtures reads files that systemd-journal-remote has written, with every format and
// compression, and compares every field with what was written.
func TestFixtures(t *testing.T) {
	entries := parseExport(t, readFile(t, "testdata/fixture.export"))
	every := make(map[string]bool)
	for _, e := range entries {
		for name := range e.fields {
			every[name] = true
		}
	}
	for _, path := range fixtures(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			content := unpacked(t, path)
			f, err := NewFile(bytes.NewReader(content), every)
			if err != nil {
				t.Fatal(err)
			}
			if f.Len() != len(entries) {
				t.Fatalf("%d entries, want %d", f.Len(), len(entries))
			}
			for i, want := range entries {
				stamp, err := f.Stamp(i)
				want.stamp.Seq = uint64(i + 1)
				if err != nil || stamp != want.stamp {
					t.Errorf("entry %d: %+v, %v; want %+v", i, stamp, err, want.stamp)
				}
				got := make(map[string]string)
				if err := f.Fields(i, got); err != nil || !maps.Equal(got, want.fields) {
					t.Errorf("entry %d: %q, %v; want %q", i, got, err, want.fields)
				}
				if n := f.After(stamp.Seq); n != i+1 {
					t.Errorf("after %d: %d", stamp.Seq, n)
				}
				if n := f.Since(stamp.Received); n != i {
					t.Errorf("since %d: %d", stamp.Received, n)
				}
			}
		})
	}
}

// TestFixturesAreCompressed makes sure that the fixtures are of what their names say.
func TestFixturesAreCompressed(t *testing.T) {
	flags := map[string]byte{"none": 0, "xz": isXZ, "lz4": isLZ4, "zstd": isZSTD, "online": isZSTD}
	for _, path := range fixtures(t) {
		content := unpacked(t, path)
		base, _, _ := strings.Cut(filepath.Base(path), ".")
		format, kind, _ := strings.Cut(base, "-")
		head, err := parseHeader(content)
		if err != nil || head.compact != (format == "compact") {
			t.Errorf("%s: %+v, %v", path, head, err)
		}
		seen := make(map[byte]int)
		for at := binary.LittleEndian.Uint64(content[88:]); at < binary.LittleEndian.Uint64(content[136:]); {
			if content[at] == typeData {
				seen[content[at+1]]++
			}
			at += (binary.LittleEndian.Uint64(content[at+8:]) + 7) / 8 * 8
		}
		if flag := flags[kind]; flag != 0 && (len(seen) != 2 || seen[flag] < 3) || flag == 0 && len(seen) != 1 {
			t.Errorf("%s: objects by flags %v", path, seen)
		}
		if online := content[16] == 1; online != (kind == "online") {
			t.Errorf("%s: online is %v", path, online)
		}
	}
}

// TestJournalctlAgrees compares with what journalctl reads from the same files.
func TestJournalctlAgrees(t *testing.T) {
	journalctl, err := exec.LookPath("journalctl")
	if err != nil {
		t.Skip("journalctl is not installed")
	}
	for _, path := range fixtures(t) {
		content := unpacked(t, path)
		file := filepath.Join(t.TempDir(), "system.journal")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(journalctl, "--file", file, "-o", "export", "--all", "--no-pager").Output()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		entries := parseExport(t, out)
		f, err := NewFile(bytes.NewReader(content), wanted)
		if err != nil || f.Len() != len(entries) {
			t.Fatalf("%s: %d entries, want %d; %v", path, f.Len(), len(entries), err)
		}
		for i, want := range entries {
			stamp, _ := f.Stamp(i)
			want.stamp.Seq = stamp.Seq // which this journalctl does not show
			maps.DeleteFunc(want.fields, func(name, _ string) bool { return !wanted[name] })
			got := make(map[string]string)
			if err := f.Fields(i, got); err != nil || stamp != want.stamp || !maps.Equal(got, want.fields) {
				t.Errorf("%s, entry %d: %+v %q, %v; want %+v %q", path, i, stamp, got, err, want.stamp, want.fields)
			}
		}
	}
}

// TestLongFields has fields that are longer than what is returned, and than what is unpacked.
func TestLongFields(t *testing.T) {
	long := "MESSAGE=" + strings.Repeat("abcdefgh", 10_000)
	huge := "MESSAGE=" + strings.Repeat("abcdefgh", 1<<18)
	for _, flags := range []uint32{0, hasXZ, hasLZ4, hasZSTD, isCompact, isCompact | hasXZ, isCompact | hasLZ4 | isKeyed, isCompact | hasZSTD | isKeyed} {
		w := newWriter(flags, 1, 2)
		w.add(t, Stamp{Seq: 1}, long, "PRIORITY=3", "CORE="+huge)
		w.add(t, Stamp{Seq: 2}, huge, "PRIORITY=3")
		w.add(t, Stamp{Seq: 3}, "MESSAGE=", "MESSAGE=second", "PRIORITY=3", "PRIORITY=3")
		f, err := NewFile(bytes.NewReader(w.bytes), wanted)
		if err != nil || f.Len() != 3 {
			t.Fatal(err)
		}
		fields := make(map[string]string)
		// The decoder refuses what takes too much memory before it knows its name.
		if err := f.Fields(0, fields); err != nil && flags&hasZSTD == 0 || fields["MESSAGE"] != long[8:8+MaxField] || fields["PRIORITY"] != "3" || len(fields) != 2 {
			t.Errorf("%d: %d bytes and %q, %v", flags, len(fields["MESSAGE"]), fields["PRIORITY"], err)
		}
		clear(fields)
		err = f.Fields(1, fields)
		if readable := flags&hasZSTD == 0; readable != (err == nil) || readable && fields["MESSAGE"] != huge[8:8+MaxField] || fields["PRIORITY"] != "3" {
			t.Errorf("%d: %d bytes and %q, %v", flags, len(fields["MESSAGE"]), fields["PRIORITY"], err)
		}
		clear(fields)
		if err := f.Fields(2, fields); err != nil || len(fields) != 2 || fields["MESSAGE"] != "" {
			t.Errorf("%d: %q, %v", flags, fields, err)
		}
	}
}

func TestNotJournals(t *testing.T) {
	w := newWriter(0, 1, 2)
	w.line(t, 1)
	change := func(at int, value uint64) []byte {
		b := bytes.Clone(w.bytes)
		binary.LittleEndian.PutUint64(b[at:], value)
		return b
	}
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"nothing":     {nil, ErrNotJournal},
		"short":       {w.bytes[:headerLeast-1], ErrNotJournal},
		"other":       {change(0, 1), ErrNotJournal},
		"newer":       {change(12, 32), ErrNewer},
		"tiny header": {change(88, 100), ErrNotJournal},
		"huge header": {change(88, 1<<63), ErrNotJournal},
		"huge arena":  {change(96, 1<<64-1), ErrNotJournal},
	} {
		if _, err := NewFile(bytes.NewReader(c.content), wanted); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestLoops has arrays that lead to themselves or back, entries that are arrays, and numbers of
// entries that no file has.
func TestLoops(t *testing.T) {
	build := func() *writer {
		w := newWriter(0, 1, 2)
		w.line(t, 1, 2, 3, 4, 5, 6)
		return w
	}
	arrays := func(w *writer) (first, second int) {
		first = int(binary.LittleEndian.Uint64(w.bytes[176:]))
		return first, int(binary.LittleEndian.Uint64(w.bytes[first+16:]))
	}
	for name, harm := range map[string]func(w *writer){
		"to itself": func(w *writer) { a, _ := arrays(w); w.set(a+16, uint64(a)) },
		"back":      func(w *writer) { a, b := arrays(w); w.set(b+16, uint64(a)) },
		"outside":   func(w *writer) { a, _ := arrays(w); w.set(a+16, 1<<62) },
		"unaligned": func(w *writer) { a, _ := arrays(w); w.set(a+16, uint64(a)+9) },
		"huge":      func(w *writer) { a, _ := arrays(w); w.set(a+8, 1<<63) },
		"an entry":  func(w *writer) { a, _ := arrays(w); w.set(a+24, uint64(a)) },
		"a header":  func(w *writer) { a, _ := arrays(w); w.set(a+24, 8) },
	} {
		w := build()
		harm(w)
		w.set(152, 1<<63)
		f, err := NewFile(bytes.NewReader(w.bytes), wanted)
		if err != nil {
			t.Fatal(err)
		}
		if f.Len() > 12 {
			t.Errorf("%s: %d entries", name, f.Len())
		}
		walk(f)
	}
}

// walk reads everything, and returns how many entries can be read as a whole.
func walk(f *File) (sound int) {
	fields := make(map[string]string)
	for i := range min(f.Len(), 200) {
		clear(fields)
		if _, err := f.Stamp(i); err == nil && f.Fields(i, fields) == nil {
			sound++
		}
	}
	f.After(3)
	f.Since(start)
	return sound
}

// TestEveryCutAndFlip cuts a file at every byte and turns every bit around: entries are lost,
// never more than those are read, and the work has its bound.
func TestEveryCutAndFlip(t *testing.T) {
	for _, flags := range []uint32{0, isCompact | hasLZ4, isCompact | hasZSTD, hasXZ} {
		w := newWriter(flags, 1, 2)
		w.line(t, 1, 2, 3)
		w.add(t, Stamp{Seq: 4}, "MESSAGE="+strings.Repeat("long ", 30), "PRIORITY=3")
		w.line(t, 5, 6)
		m := new(memory)
		for n := range len(w.bytes) {
			if f, err := newFile(bytes.NewReader(w.bytes[:n]), wanted, m); err == nil {
				walk(f)
			}
			for bit := range 8 {
				w.bytes[n] ^= 1 << bit
				if f, err := newFile(bytes.NewReader(w.bytes), wanted, m); err == nil {
					walk(f)
					if f.spent > maxEntryBytes {
						t.Fatalf("%d bytes are read with bit %d of byte %d turned", f.spent, bit, n)
					}
				}
				w.bytes[n] ^= 1 << bit
			}
		}
	}
}

// TestCostlyEntry has an entry of many fields, each of which takes as much work as it
// can.
func TestCostlyEntry(t *testing.T) {
	w := newWriter(hasZSTD, 1, 2)
	var fields []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf("FIELD_%d=%s", i, strings.Repeat("x", 500_000)))
	}
	w.add(t, Stamp{Seq: 1}, fields...)
	f, err := NewFile(bytes.NewReader(w.bytes), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Fields(0, make(map[string]string)); !errors.Is(err, errCostly) || f.spent > maxEntryBytes+maxPacked+maxBlock {
		t.Errorf("%v after %d bytes", err, f.spent)
	}
}

// TestGrowing reads a file while it grows, beyond several arrays.
func TestGrowing(t *testing.T) {
	for _, flags := range []uint32{0, isCompact} {
		w := newWriter(flags, 1, 2)
		r := &growing{w}
		f, err := NewFile(r, wanted)
		if err != nil || f.Len() != 0 {
			t.Fatal(f.Len(), err)
		}
		for n := uint64(1); n < 100; n++ {
			w.line(t, n)
			if grown, err := f.Refresh(); !grown || err != nil || f.Len() != int(n) {
				t.Fatalf("%d: %v %d %v", n, grown, f.Len(), err)
			}
			fields := make(map[string]string)
			if err := f.Fields(f.Len()-1, fields); err != nil || fields["MESSAGE"] != strconv.FormatUint(n, 10) {
				t.Fatalf("%d: %q, %v", n, fields, err)
			}
			if grown, err := f.Refresh(); grown || err != nil {
				t.Fatal(grown, err)
			}
		}
		*w = *newWriter(flags, 9, 2)
		if _, err := f.Refresh(); err == nil {
			t.Error("another file in its place is not noticed")
		}
	}
}

type growing struct{ w *writer }

func (g *growing) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(g.w.bytes)) {
		return 0, io.EOF
	}
	n := copy(b, g.w.bytes[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func FuzzJournal(f *testing.F) {
	for _, flags := range []uint32{0, isCompact, hasXZ, hasLZ4 | isKeyed, hasZSTD | isCompact} {
		w := newWriter(flags, 1, 2)
		w.line(f, 1, 2, 3, 4)
		w.add(f, Stamp{Seq: 5, Received: start}, "MESSAGE="+strings.Repeat("Stack trace of thread 1:\n#0  0x1 f (m + 0x1)\n", 3), "MESSAGE_ID=fc2e22bc6ee647b6b90729ab34a250b1", "_UID=0")
		f.Add(w.bytes)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		j, err := NewFile(bytes.NewReader(content), wanted)
		if err != nil {
			return
		}
		fields := make(map[string]string)
		for i := range min(j.Len(), 50) {
			clear(fields)
			before := j.spent
			s, err := j.Stamp(i)
			if err != nil {
				continue
			}
			_ = j.Fields(i, fields)
			if cost := j.spent - before; cost > maxEntryBytes+maxPacked+maxBlock+16*blockSize {
				t.Fatalf("an entry takes %d bytes", cost)
			}
			e := newEntry("system", s, fields)
			if len(e.Message) > maxText {
				t.Fatalf("a message of %d bytes", len(e.Message))
			}
		}
		j.After(3)
		if _, err := j.Refresh(); err != nil {
			t.Fatal(err)
		}
	})
}
