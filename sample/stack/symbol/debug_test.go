package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/stack"
	"tachograph/sample/xz/xztest"
)

// packedSymbols is a file with symbols as linkers leave it in a stripped one.
func packedSymbols(t testing.TB, file []byte) madeSection {
	return madeSection{".gnu_debugdata", xztest.Pack(t, file, 0)}
}

// linkTo is what a stripped file says about its debug file.
func linkTo(name string, debug []byte) madeSection {
	text := append([]byte(name), 0)
	for len(text)%4 != 0 {
		text = append(text, 0)
	}
	return madeSection{".gnu_debuglink", little.AppendUint32(text, crc32.ChecksumIEEE(debug))}
}

// withoutID is a file whose build ID is in another owner's note.
func withoutID(b []byte) []byte { return bytes.ReplaceAll(b, []byte("GNU\x00"), []byte("XYZ\x00")) }

func TestPackedSymbols(t *testing.T) {
	whole := []spot{{0x401000, "first"}, {0x401020, "second"}, {0x401030, "third"}}
	checkPlaces(t, read(t, stripped(packedSymbols(t, elfFile())), "deadbeef"), whole)
	nothing := []spot{{0x401000, ""}, {0x401030, ""}}
	damaged := packedSymbols(t, elfFile())
	damaged.text = damaged.text[:len(damaged.text)/2]
	for name, m := range map[string]madeSection{
		"damaged":        damaged,
		"not packed":     {".gnu_debugdata", elfFile()},
		"another format": packedSymbols(t, []byte("#!/bin/sh\n")),
		"without any":    packedSymbols(t, stripped()),
		"in itself":      packedSymbols(t, stripped(packedSymbols(t, elfFile()))),
	} {
		t.Run(name, func(t *testing.T) { checkPlaces(t, read(t, stripped(m), "deadbeef"), nothing) })
	}
	// One that has its symbols needs no others.
	checkPlaces(t, read(t, elfFile(damaged), "deadbeef"), whole)
}

// files opens files of a machine that has only these.
func files(all map[string][]byte, asked *[]string) Opener {
	return func(m *stack.Image, debug string) (io.ReaderAt, int64, error) {
		if debug == "" {
			debug = m.Path
		}
		*asked = append(*asked, debug)
		b, there := all[debug]
		if !there {
			return nil, 0, os.ErrNotExist
		}
		return bytes.NewReader(b), int64(len(b)), nil
	}
}

func TestDebugFiles(t *testing.T) {
	const program = "/opt/a/program"
	full, link := elfFile(), linkTo("program.debug", withoutID(elfFile()))
	other := bytes.ReplaceAll(full, []byte("\xde\xad\xbe\xef"), []byte("\xde\xad\xbe\xee"))
	for _, c := range []struct {
		name    string
		program []byte
		at      string
		debug   []byte
		found   bool
	}{
		{"by build ID", stripped(), "/usr/lib/debug/.build-id/de/adbeef.debug", full, true},
		{"with another ID", stripped(), "/usr/lib/debug/.build-id/de/adbeef.debug", other, false},
		{"that is stripped too", stripped(), "/usr/lib/debug/.build-id/de/adbeef.debug", stripped(), false},
		{"beside it", stripped(link), "/opt/a/program.debug", full, true},
		{"below it", stripped(link), "/opt/a/.debug/program.debug", full, true},
		{"among the distribution's", stripped(link), "/usr/lib/debug/opt/a/program.debug", full, true},
		{"beside it with another ID", stripped(link), "/opt/a/program.debug", other, false},
		{"by checksum", withoutID(stripped(link)), "/opt/a/program.debug", withoutID(full), true},
		{"with another checksum", withoutID(stripped(link)), "/opt/a/program.debug", append(withoutID(full), 0), false},
		{"elsewhere", stripped(linkTo("../b/program.debug", full)), "/opt/b/program.debug", full, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			n := NewNamer(files(map[string][]byte{program: c.program, c.at: c.debug}, &asked), Recording)
			id := "deadbeef"
			if bytes.Contains(c.program, []byte("XYZ")) {
				id = ""
			}
			s := sampleOf(&stack.Image{Path: program, ID: id, Base: 0x7000000000}, 0x401000, 0x401031)
			n.Name(s)
			want := " "
			if c.found {
				want = "first third"
			}
			if got := names(s); got != want {
				t.Errorf("%q, want %q; asked for %q", got, want, asked)
			}
		})
	}
	// A program with symbols needs no debug file, and one that takes too much memory is not used.
	var asked []string
	all := map[string][]byte{program: full, "/usr/lib/debug/.build-id/de/adbeef.debug": full}
	NewNamer(files(all, &asked), Recording).Name(sampleOf(&stack.Image{Path: program, ID: "deadbeef"}, 0x401000))
	if !slices.Equal(asked, []string{program}) {
		t.Errorf("asked for %q", asked)
	}
	all[program] = stripped()
	n := NewNamer(files(all, &asked), Budget{Time: Recording.Time, Bytes: read(t, full, "").Bytes() - 1})
	s := sampleOf(&stack.Image{Path: program, ID: "deadbeef"}, 0x401000)
	if n.Name(s); names(s) != "" || n.Unnamed != 0 {
		t.Errorf("named %q beyond the budget, %s", names(s), n.Why)
	}
}

// Symbols of which little would be kept are not read: most of them are of variables.
func TestLargeSymbols(t *testing.T) {
	const much = 20_000
	large := append(elfFile(), make([]byte, much)...)
	names := little.Uint64(large[40:]) + 3*64
	little.PutUint64(large[names+32:], uint64(len(large))-little.Uint64(large[names+24:]))
	image := read(t, stripped(), "deadbeef")
	open := func(string) (io.ReaderAt, int64, error) { return bytes.NewReader(large), int64(len(large)), nil }
	if image.debugTable("/opt/p", open, much/2-100) != nil {
		t.Error("read")
	}
	if debug := image.debugTable("/opt/p", open, much); debug == nil || debug.Bytes() > much/8 {
		t.Errorf("not read: %+v", debug)
	}
}

// A function has its exported name also where a debug file gives it others.
func TestExportedNames(t *testing.T) {
	made := func(names ...string) *Table {
		var b builder
		for i, name := range names {
			if name == "" {
				continue
			}
			if err := b.add(uint64(i)*16, 16, 0, name); err != nil {
				t.Fatal(err)
			}
		}
		return b.table("deadbeef")
	}
	checkPlaces(t, made("", "read", "").joined(made("hidden", "__libc_read", "other")), []spot{{1, "hidden"}, {17, "read"}, {33, "other"}, {48, ""}})
}

// What linkers and distributions' tools make is read as they mean it: a program in C whose only
// function that is not exported has its name in the debug file alone.
func TestDebugFilesOfTools(t *testing.T) {
	for _, tool := range []string{"gcc", "objcopy", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p.c"), []byte("int x; __attribute__((noinline)) static int hidden(int n) { return x += n; }\nint main(void) { return hidden(2) - 2; }\n"))
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	run("gcc", "-g", "-O1", "-Wl,--build-id=0xabcdef0123456789", "-o", "whole", "p.c")
	run("gcc", "-g", "-O1", "-Wl,--build-id=none", "-o", "nameless", "p.c")
	for _, p := range []string{"whole", "nameless"} {
		run("objcopy", "--only-keep-debug", p, p+".debug")
		run("objcopy", "--strip-all", "--add-gnu-debuglink="+p+".debug", p, p+".stripped")
	}
	run("objcopy", "--strip-debug", "whole", "mini") // as MiniDebugInfo is made
	run("xz", "mini")
	run("objcopy", "--strip-all", "--add-section", ".gnu_debugdata=mini.xz", "whole", "packed")
	offset := func(path string) uint64 {
		table, err := OpenImage(filepath.Join(dir, path), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range table.functions {
			if table.name(f.name) == "hidden" {
				return f.start
			}
		}
		t.Fatalf("%s has no symbols", path)
		return 0
	}
	for _, c := range []struct{ program, like string }{{"whole.stripped", "whole"}, {"nameless.stripped", "nameless"}, {"packed", "whole"}} {
		t.Run(c.program, func(t *testing.T) {
			path := filepath.Join(dir, c.program)
			own, err := OpenImage(path, "")
			if err != nil {
				t.Fatal(err)
			}
			s := sampleOf(&stack.Image{Path: path, ID: own.ID()}, offset(c.like)+1)
			n := NewNamer(nil, Recording)
			if n.Name(s); names(s) != "hidden" {
				t.Errorf("%q; %s", names(s), n.Why)
			}
			if own.ID() == "" {
				return
			}
			// The directory has the program alone, and finds the debug file beside it.
			alone := filepath.Join(dir, "alone "+c.program)
			for _, f := range []string{c.program, "whole.debug"} {
				b, err := os.ReadFile(filepath.Join(dir, f))
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(alone, f), b)
			}
			d, err := OpenDirectory(alone)
			if err != nil {
				t.Fatal(err)
			}
			if name, _, _, _ := d.Find(own.ID()).Find(offset(c.like) + 1); name != "hidden" {
				t.Errorf("in a directory: %q", name)
			}
		})
	}
}

func FuzzDebugLink(f *testing.F) {
	f.Add(linkTo("a.debug", nil).text, "/usr/bin/a")
	f.Add([]byte("..\x00\x00\x01\x02\x03\x04"), "")
	f.Fuzz(func(t *testing.T, section []byte, image string) {
		b := stripped(madeSection{".gnu_debuglink", section})
		table, err := Read(bytes.NewReader(b), int64(len(b)), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range table.debugPaths(image) {
			if !filepath.IsAbs(p) || p == image {
				t.Errorf("the debug file of %q is %q", image, p)
			}
		}
		if table.link.name != "" && binary.LittleEndian.Uint32(section[(len(table.link.name)+4)&^3:]) != table.link.sum {
			t.Error(fmt.Sprint(table.link))
		}
	})
}
