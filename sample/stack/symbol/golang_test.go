package symbol

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// ownImage opens the program that runs the test.
func ownImage(t *testing.T) *Table {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system's programs are another kind of file")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	image, err := OpenImage(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// The runtime of this test has the same table of functions. Every function and line must
// agree with it, except where another function was inlined.
func TestAsTheRuntimeSays(t *testing.T) {
	table := ownImage(t)
	if table.lines == nil {
		t.Fatal("this program has no table of Go's")
	}
	// The address of one function gives the program's place in memory. All other functions
	// must agree with that.
	here := uint64(reflect.ValueOf(TestAsTheRuntimeSays).Pointer())
	var bias uint64
	for i := range table.lines.functions {
		at := table.lines.text + table.lines.entry(i)
		if name, _, _, _ := table.Find(at); strings.HasSuffix(name, "symbol.TestAsTheRuntimeSays") {
			bias = here - at
		}
	}
	checked, inlined := 0, 0
	for i := range table.lines.functions {
		at, end := table.lines.text+table.lines.entry(i), table.lines.text+table.lines.entry(i+1)
		// The runtime assigns a return address at the beginning of the next function to that
		// function.
		for ; at+1 < end; at += 211 {
			// CallersFrames takes return addresses, and looks up the place one before. Func
			// is nil if another function was inlined there; the name is then that of the
			// inlined one.
			next := runtime.CallersFrames([]uintptr{uintptr(at + bias + 1)})
			frame, _ := next.Next()
			if frame.File == "?" {
				frame.File = ""
			}
			name, file, line, ok := table.Find(at)
			if file == "" && end-at <= 32 {
				continue // no code; the runtime repeats the place before
			}
			if frame.Func == nil && (file != frame.File || line != frame.Line) {
				inlined++ // What is said is of the function around it.
				continue
			}
			if want := frame.Func.Name(); !ok || want != "" && !strings.Contains(want, "[...]") && name != want || file != frame.File || line != frame.Line {
				t.Fatalf("%#x is %s, %s:%d, %v: the runtime says %s, %s:%d", at, name, file, line, ok, frame.Function, frame.File, frame.Line)
			}
			checked++
		}
	}
	if checked < 5_000 || inlined < 100 {
		t.Errorf("%d places checked, and %d in inlined functions", checked, inlined)
	}
}

//go:noinline
func bump(n *atomic.Int64) { n.Add(int64(len(runtime.GOOS))) }

// TestInlinedFunctionsHaveTheLineAround looks at all places of a function in which one of another
// file is inlined: the name, the file and the line belong together.
func TestInlinedFunctionsHaveTheLineAround(t *testing.T) {
	bump(new(atomic.Int64))
	table := ownImage(t)
	_, line := runtime.FuncForPC(reflect.ValueOf(bump).Pointer()).FileLine(reflect.ValueOf(bump).Pointer())
	places := 0
	for i := range table.lines.functions {
		at, end := table.lines.text+table.lines.entry(i), table.lines.text+table.lines.entry(i+1)
		if name, _, _, _ := table.Find(at); !strings.HasSuffix(name, "symbol.bump") {
			continue
		}
		for ; at < end; at++ {
			name, file, n, _ := table.Find(at)
			if file == "" && places > 0 {
				break // what fills the space up to the next function
			}
			if places++; !strings.HasSuffix(name, "symbol.bump") || filepath.Base(file) != "golang_test.go" || n != line {
				t.Errorf("%#x is %s, %s:%d, want line %d", at, name, file, n, line)
			}
		}
	}
	if places == 0 {
		t.Error("the function is not found")
	}
}

// A program without symbols still has the table, wherever it is in memory.
func TestStrippedGo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs for other systems")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go here")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {\n\tprintln(known(len(\"x\")))\n}\n\n//go:noinline\nfunc known(n int) int {\n\treturn n * n\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ system, processor, mode string }{
		{"linux", "amd64", "exe"}, {"linux", "arm64", "exe"}, {"darwin", "arm64", "pie"}, {"darwin", "amd64", "pie"},
		{"linux", "amd64", "pie"}, {"linux", "386", "exe"},
	} {
		t.Run(c.system+" "+c.processor+" "+c.mode, func(t *testing.T) {
			if (c.mode == "pie" || c.processor == "386") && c.system == "linux" && os.Getenv("TACHO_LONG") == "" {
				t.Skip("compiles Go's own library once more: set TACHO_LONG=1")
			}
			build := func(flags string) *Table {
				out := filepath.Join(dir, "out")
				cmd := exec.Command(tool, "build", "-trimpath", "-buildmode="+c.mode, "-ldflags="+flags, "-o", out, source)
				cmd.Env = append(os.Environ(), "GOOS="+c.system, "GOARCH="+c.processor, "CGO_ENABLED=0", "GOFLAGS=", "GO111MODULE=off")
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				table, err := OpenImage(out, "")
				if err != nil {
					t.Fatal(err)
				}
				if table.ID() == "" {
					t.Error("it has no ID")
				}
				return table
			}
			full, stripped := build(""), build("-s -w")
			found := 0
			for _, f := range full.functions {
				if full.name(f.name) != "main.known" {
					continue
				}
				found++
				name, file, line, ok := full.Find(f.start)
				if !ok || name != "main.known" || filepath.Base(file) != "main.go" || line != 8 && line != 9 {
					t.Errorf("with symbols: %s, %s:%d, %v", name, file, line, ok)
				}
			}
			if found != 1 {
				t.Errorf("main.known is there %d times", found)
			}
			// The linker writes symbols apart from the table. They give the address of each
			// function in it. In the stripped program nothing says where the code begins.
			if full.lines == nil || stripped.lines == nil {
				t.Fatal("no table of Go's was found")
			}
			if full.lines.text != stripped.lines.text || stripped.lines.functions != full.lines.functions {
				t.Errorf("%d functions from %#x on, with symbols %d from %#x on", stripped.lines.functions, stripped.lines.text, full.lines.functions, full.lines.text)
			}
			for i := range stripped.lines.functions {
				at := stripped.lines.text + stripped.lines.entry(i)
				got, _, _, _ := stripped.Find(at)
				if want, _, _, _ := full.Find(at); got != want {
					t.Fatalf("%#x is %q, with symbols %q", at, got, want)
				}
			}
		})
	}
}

func FuzzLines(f *testing.F) {
	header := func(n, functions uint64) []byte {
		return words(uint32(magicGo120), uint16(0), byte(1), byte(8), n, uint64(1), uint64(0), uint64(72), uint64(78), uint64(82), uint64(87), functions)
	}
	// A function of 16 bytes, called "main", in line 3 of "a.go".
	table := words(uint32(0), uint32(12), uint32(16), uint32(0), uint32(1), uint32(0), uint32(0), uint32(0), uint32(1), uint32(4), uint32(0), uint32(0))
	good := words(header(1, 96), "\x00main\x00", uint32(0), "a.go\x00", "\x00\x02\x10\x00\x08\x10\x00\x00\x00", table)
	f.Add(good, uint64(3))
	f.Add(good[:80], uint64(0))
	f.Add(header(1<<40, 8), uint64(0))
	l := readLines(good)
	if l == nil {
		f.Fatal("it is not understood")
	}
	if name, file, line, ok := l.find(3); name != "main" || file != "a.go" || line != 3 || !ok {
		f.Fatalf("%s %s:%d %v", name, file, line, ok)
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		l := readLines(bytes.Clone(b))
		if l == nil {
			return
		}
		if name, _, _, ok := l.find(at); ok && name == "" {
			t.Error("a function without a name")
		}
		if depth, _, _ := (&GoDepths{l}).At(at); depth > 1<<32 {
			t.Errorf("%d bytes of stack", depth)
		}
	})
}
