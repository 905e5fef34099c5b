package symbol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/stack"
)

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// stripped is elfFile without its symbols, with the same ID.
func stripped(more ...madeSection) []byte {
	b := elfFile(more...)
	little.PutUint32(b[little.Uint64(b[40:])+2*64+4:], 0)
	return b
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "program"), stripped())
	write(t, filepath.Join(dir, ".build-id", "de", "adbeef.debug"), elfFile())
	write(t, filepath.Join(dir, "z", "program"), stripped())
	write(t, filepath.Join(dir, "App.dSYM", "Contents", "Resources", "DWARF", "App"), fatFile(machFile(cpuAmd64, 1), machFile(cpuArm64, 2)))
	write(t, filepath.Join(dir, "README"), []byte("nothing here\n"))
	write(t, filepath.Join(dir, "empty"), nil)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "round")); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDirectory(linked)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"deadbeef":                             "first",
		"01010101-0101-0101-0101-010101010101": "main",
		"02020202-0202-0202-0202-020202020202": "main",
		"03030303-0303-0303-0303-030303030303": "",
		"":                                     "",
	} {
		t.Run(id, func(t *testing.T) {
			table := d.Find(id)
			if want == "" {
				if table != nil {
					t.Error("there is none")
				}
				return
			}
			if table == nil || table.ID() != id || d.Find(id) != table {
				t.Fatalf("%+v", table)
			}
			at := uint64(0x1000)
			if want == "first" {
				at = 0x401000
			}
			if got, _, _, _ := table.Find(at); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if _, err := OpenDirectory(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no directory: %v", err)
	}
}

func sampleOf(m *stack.Image, offsets ...uint64) *stack.Sample {
	s := &stack.Sample{Count: 1}
	for _, at := range offsets {
		s.Frames = append(s.Frames, stack.Frame{Image: m, Address: m.Base + at})
	}
	return s
}

func names(s *stack.Sample) string {
	var n []string
	for _, f := range s.Frames {
		n = append(n, f.Name)
	}
	return strings.Join(n, " ")
}

func TestNamer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	write(t, path, elfFile())
	image := &stack.Image{Path: path, ID: "deadbeef", Base: 0x7000000000}
	n := NewNamer(nil, Recording)
	// The second address is the first byte after "first", and the third is where "third"
	// begins: "second" ends with a call that never returns.
	s := sampleOf(image, 0x401000, 0x401010, 0x401030)
	s.Frames = append(s.Frames, stack.Frame{Address: 0x99}, stack.Frame{Image: image, Address: image.Base + 0x401000, Name: "known"})
	s.Waker = &stack.Waker{Frames: sampleOf(image, 0x401030).Frames}
	n.Name(s)
	if got := names(s); got != "first first second  known" || s.Waker.Frames[0].Name != "third" {
		t.Errorf("%q, woken by %+v", got, s.Waker.Frames)
	}
	// An interrupted or calling address is not a return address. The kernel's caller is
	// looked up at its own address.
	s = sampleOf(image, 0, 0x401030)
	s.Frames[0].Kernel = true
	n.Name(s)
	if got := names(s); got != " third" {
		t.Errorf("below the kernel: %q", got)
	}
	if n.Unnamed != 0 {
		t.Errorf("%d unnamed, %s", n.Unnamed, n.Why)
	}
	other := &stack.Image{Path: path, ID: "cafe", Base: 0x7000000000}
	if s = sampleOf(other, 0x401000); true {
		n.Name(s)
	}
	if names(s) != "" || n.Unnamed != 1 || !strings.Contains(n.Why, path) {
		t.Errorf("of a file that was replaced: %q, %d unnamed, %s", names(s), n.Unnamed, n.Why)
	}
}

func TestNamerKeepsToItsBudget(t *testing.T) {
	opened := 0
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	open := func(m *stack.Image, _ string) (io.ReaderAt, int64, error) {
		opened++
		if m.Path == "hangs" {
			<-hang
		}
		return bytes.NewReader(elfFile()), int64(len(elfFile())), nil
	}
	image := func(i int) *stack.Image { return &stack.Image{Path: fmt.Sprint(i), ID: "deadbeef"} }
	t.Run("bytes", func(t *testing.T) {
		n := NewNamer(open, Budget{Time: time.Minute, Bytes: 100})
		opened = 0
		for i := range 10 {
			n.Name(sampleOf(image(i), 0x401000))
		}
		// After a table that was too large, smaller ones may still fit.
		if held := 100 / read(t, elfFile(), "").Bytes(); opened != 10 || n.Unnamed != 10-held || held == 0 || n.Why == "" {
			t.Errorf("%d opened, %d unnamed, %s", opened, n.Unnamed, n.Why)
		}
	})
	t.Run("time of each", func(t *testing.T) {
		left, never := time.Minute, make(chan struct{})
		t.Cleanup(func() { close(never) })
		if _, err := Within(&left, time.Millisecond, func() (int, error) { <-never; return 1, nil }); !errors.Is(err, ErrSlow) || left != time.Minute-time.Millisecond {
			t.Errorf("%v, %v left", err, left)
		}
		if v, err := Within(&left, time.Minute, func() (int, error) { return 1, nil }); v != 1 || err != nil || left <= 0 {
			t.Errorf("%d, %v, %v left", v, err, left)
		}
	})
	t.Run("time", func(t *testing.T) {
		n := NewNamer(open, Budget{Time: 20 * time.Millisecond, Bytes: 1 << 20})
		n.Name(sampleOf(&stack.Image{Path: "hangs"}, 0x401000))
		n.Name(sampleOf(image(1), 0x401000))
		if n.Unnamed != 2 || n.left > 0 {
			t.Errorf("%d unnamed, %v left", n.Unnamed, n.left)
		}
	})
}

func TestKernelNames(t *testing.T) {
	k, err := ReadKernel(strings.NewReader("ffffffff81000000 T _stext\nffffffff81000100 t twice\nffffffff81000180 t do_wait\n" +
		"ffffffff81000200 D a_variable\nffffffff81000300 t twice\nnonsense\n\nffffffffc0000000 t in_module\t[module]\nffffffffc0000010 t behind\t[module]\n" +
		"ffffffff81000400 T __sched_text_start\nffffffff81000400 T schedule\nffffffff81000480 t wait_on\nffffffff81000500 T __sched_text_end\nffffffff81000500 T after\n"))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[uint64]string{
		0xffffffff80ffffff: "", 0xffffffff81000000: "_stext", 0xffffffff810001ff: "do_wait", 0xffffffffc000000f: "in_module",
	} {
		t.Run(fmt.Sprintf("%x", at), func(t *testing.T) {
			if got, _ := k.Find(at); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	for at, want := range map[uint64]bool{0xffffffff810003ff: false, 0xffffffff81000400: true, 0xffffffff810004ff: true, 0xffffffff81000500: false} {
		if k.Schedules(at) != want {
			t.Errorf("%x is in the scheduler: %v", at, !want)
		}
	}
	if name, _ := k.Find(0xffffffff81000400); name != "schedule" {
		t.Errorf("the scheduler begins with %q", name)
	}
	for _, c := range []struct {
		name string
		size uint64
		want uint64
	}{{"do_wait", 0x180, 0xffffffff81000180}, {"twice", 0x80, 0xffffffff81000100}, {"twice", 7, 0}, {"none", 0, 0}} {
		t.Run(fmt.Sprint(c.name, c.size), func(t *testing.T) {
			if got := k.Address(c.name, c.size); got != c.want {
				t.Errorf("%#x, want %#x", got, c.want)
			}
		})
	}
	if _, err := ReadKernel(strings.NewReader("0000000000000000 T _stext\n0000000000000000 t a\n")); !errors.Is(err, ErrHidden) {
		t.Errorf("of a kernel that hides: %v", err)
	}
}

func FuzzKernel(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T _stext\nffffffffc0000000 t in_module\t[module]\n"))
	f.Add([]byte("0 T x\n\n 1 2 3"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := ReadKernel(bytes.NewReader(b)); err == nil {
			k.Find(1)
			k.Address("x", 1)
		}
	})
}
