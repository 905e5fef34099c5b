package perf

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"tachograph/sample/stack"
)

// compiledBy runs a compiler in a directory of the test's own.
func compiledBy(t testing.TB, tool string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skip(tool + " is not installed")
	}
	out := filepath.Join(t.TempDir(), "made")
	cmd := exec.Command(path, append(args, "-o", out)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// withoutFrames are the flags of programs that have no frame pointers.
var withoutFrames = []string{"-O2", "-fomit-frame-pointer", "-Wl,--build-id", "-pthread"}

// Stacks of programs that were compiled without frame pointers are whole, and the shares of
// functions are right.
func TestWithoutFramePointers(t *testing.T) {
	needsPerf(t, false)
	ways := func(t *testing.T) string { return compiledBy(t, "cc", append(withoutFrames, "testdata/ways.c")...) }
	for _, c := range []struct {
		name string
		make func(t *testing.T) []string
		path string // of all stacks, from the outermost function on
	}{
		{"C", func(t *testing.T) []string {
			return []string{compiledBy(t, "cc", append(withoutFrames, "testdata/burn.c")...)}
		}, ";main;outer;"},
		{"C++", func(t *testing.T) []string {
			return []string{compiledBy(t, "c++", append(withoutFrames, "testdata/thrown.cc")...)}
		}, ";main;outer;"},
		{"Rust", func(t *testing.T) []string {
			return []string{compiledBy(t, "rustc", "-O", "-C", "force-frame-pointers=no", "testdata/burn.rs")}
		}, ";outer;"},
		{"through the C library", func(t *testing.T) []string { return []string{ways(t), "sort"} }, ";compare;outer;"},
		{"in a signal's handler", func(t *testing.T) []string { return []string{ways(t), "signal"} }, ";main;interrupted;"},
		{"in a library", func(t *testing.T) []string {
			return []string{ways(t), "library", compiledBy(t, "cc", append(withoutFrames, "-shared", "-fPIC", "-DLIBRARY", "testdata/ways.c")...)}
		}, ";main;outer;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.make(t)
			cmd := started(t, args[0], args[1:]...)
			pid := cmd.Process.Pid
			got, _ := sampled(t, New(), stack.Wish{PID: int32(pid), Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 400 })
			whole, all := 0, 0
			for _, x := range got.all {
				if x.State == stack.Running && x.Thread.TID == uint64(pid) {
					all++
					if x.End == stack.Whole && has(&x, "main") && x.Frames[len(x.Frames)-1].Name == "_start" {
						whole++
					}
				}
			}
			if share := float64(whole) / float64(all); share < 0.95 {
				t.Errorf("%.3f of the stacks are whole:\n%v", share, got.running)
			}
			if share := got.share(got.running, c.path); share < 0.95 {
				t.Errorf("%.3f of the stacks have %q:\n%v", share, c.path, got.running)
			}
			heavy, light := got.share(got.running, ";heavy;"), got.share(got.running, ";light;")
			if both := heavy + light; both < 0.8 || heavy/both < 0.75-0.09 || heavy/both > 0.75+0.09 {
				t.Errorf("heavy has %.3f, light %.3f: want 3 to 1\n%v", heavy, light, got.running)
			}
		})
	}
}

// Threads that wait are walked from where they called the kernel, as far as frames are found
// without the other registers; a walk that ends there says so.
func TestWaitingWithoutFramePointers(t *testing.T) {
	for _, c := range []struct {
		name  string
		path  func(t *testing.T) string
		names string
		end   stack.End
	}{
		{"without frame pointers", func(t *testing.T) string {
			return compiledBy(t, "cc", append(withoutFrames, "testdata/burn.c")...)
		}, ";waiter;wait_here;read;", stack.Whole},
		{"with frame pointers", func(t *testing.T) string { return compiled(t) }, "wait_here;read;", stack.Broken},
		{"Go", func(t *testing.T) string { return "/proc/self/exe" }, ";runtime.main;main.main;tachograph/sample/stack/perf.TestMain;", stack.Whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := started(t, c.path(t), "burn in Go") // which programs in C do not know
			found := false
			s := New()
			s.refuse = errRefused
			got, _ := sampled(t, s, stack.Wish{PID: int32(cmd.Process.Pid), Rate: 50}, func(g *seen, x *stack.Sample) bool {
				found = found || x.State == stack.Waiting && x.End == c.end && g.share(g.waiting, c.names) > 0
				return found
			})
			if !found {
				t.Errorf("no stack has %q and ends %d:\n%v", c.names, c.end, got.waiting)
			}
		})
	}
}

// A handler with a stack of its own is seen, and that the walk ended with it.
func TestOtherStack(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, compiledBy(t, "cc", append(withoutFrames, "testdata/ways.c")...), "stack")
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 50 })
	seen := 0
	for _, x := range got.all {
		if !has(&x, "handler") {
			continue
		}
		seen++
		if x.End != stack.Truncated {
			t.Fatalf("end %d: %v", x.End, got.running)
		}
	}
	if share := got.share(got.running, ";handler;outer;"); share < 0.5 || seen == 0 {
		t.Errorf("%.2f are in the handler:\n%v", share, got.running)
	}
}

// Code that the kernel maps has tables, too.
func TestKernelsCode(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, compiledBy(t, "cc", append(withoutFrames, "testdata/ways.c")...), "clock")
	in, whole := 0, 0
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool {
		i := slices.IndexFunc(x.Frames, func(f stack.Frame) bool { return !f.Kernel })
		if x.State == stack.Running && i >= 0 && x.Frames[i].Image != nil && x.Frames[i].Image.Path == "[vdso]" {
			if in++; x.End == stack.Whole && has(x, "asks") && has(x, "main") {
				whole++
			}
		}
		return in >= 50 || count(g.running) >= 1000 // where the clock needs the kernel itself
	})
	if whole < in*95/100 {
		t.Errorf("%d of %d stacks are whole:\n%v", whole, in, got.running)
	}
}

// Where the kernel refuses copies of stacks, frames are found by frame pointers.
func TestWithoutCopies(t *testing.T) {
	needsPerf(t, false)
	was := own
	own = copied{}
	t.Cleanup(func() { own = was })
	cmd := started(t, compiled(t))
	got, statistics := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 499}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 50 })
	if share := got.share(got.running, "main;outer;"); share < 0.9 || statistics.How != "perf" {
		t.Errorf("%.2f are whole, %+v:\n%v", share, statistics, got.running)
	}
}

// A copy fits into a sample, and some tenths of a second of copies into a ring.
func TestCopySize(t *testing.T) {
	for _, rate := range []int{1, 99, 500, stack.MaxRate} {
		size := copySize(rate)
		if own.machine != nil && (size < 8<<10 || size%8 != 0 || size > 60<<10 || size*rate/5 > copyPages<<12) {
			t.Errorf("%d bytes at %d a second", size, rate)
		}
	}
}

// A process whose memory does not come in time is not asked again.
func TestMemoryThatHangs(t *testing.T) {
	m := copier{hung: map[int32]bool{int32(os.Getpid()): true}, left: copyTime}
	defer m.close()
	here := uint64(uintptr(unsafe.Pointer(&m)))
	if b := m.copy(int32(os.Getpid()), here); b != nil {
		t.Errorf("%d bytes", len(b))
	}
	clear(m.hung)
	if b := m.copy(int32(os.Getpid()), here); len(b) != copyBytes {
		t.Errorf("%d bytes of this program's own memory", len(b))
	}
	m.left = 0
	if b := m.copy(int32(os.Getpid()), here); b != nil || !m.hung[int32(os.Getpid())] {
		t.Errorf("%d bytes in no time", len(b))
	}
}

func TestJoined(t *testing.T) {
	for _, c := range []struct {
		name                string
		walked, chain, want []uint64
		end                 stack.End
	}{
		{"goes on", []uint64{1, 2, 3}, []uint64{1, 3, 4, 5}, []uint64{1, 2, 3, 4, 5}, stack.Whole},
		{"ends as well", []uint64{1, 2, 3}, []uint64{1, 3}, []uint64{1, 2, 3}, stack.Broken},
		{"never met", []uint64{1, 2, 3}, []uint64{1, 5, 6}, []uint64{1, 2, 3}, stack.Broken},
		{"calls itself", []uint64{1, 2, 2, 2}, []uint64{1, 2, 2, 2, 2, 2, 3}, []uint64{1, 2, 2, 2, 2, 2, 3}, stack.Whole},
		{"no chain", []uint64{1}, nil, []uint64{1}, stack.Broken},
		{"too many", []uint64{1, 2, 3, 4, 5, 6, 7}, []uint64{1, 7, 8, 9}, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, stack.Truncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			walked := append(make([]uint64, 0, 8), c.walked...)
			got, end := joined(walked, stack.Broken, c.chain, stack.Whole)
			if !slices.Equal(got, c.want) || end != c.end {
				t.Errorf("%v, end %d; want %v, end %d", got, end, c.want, c.end)
			}
		})
	}
}
