package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/proc/procfs"
	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
	"tachograph/testdata/patience"

	"tachograph/testdata/built"
	"tachograph/testdata/child"
)

var burn struct {
	once sync.Once
	path string
	err  error
}

// compiled compiles testdata/burn.c.
func compiled(t testing.TB) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler here (cc), which makes the program that is sampled")
	}
	burn.once.Do(func() {
		dir, err := os.MkdirTemp("", "burn")
		if err != nil {
			burn.err = err
			return
		}
		burn.path = filepath.Join(dir, "burn")
		out, err := exec.Command(cc, "-O0", "-fno-omit-frame-pointer", "-Wl,--build-id", "-pthread",
			"-o", burn.path, "testdata/burn.c").CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		burn.err = err
	})
	if burn.err != nil {
		t.Fatal(burn.err)
	}
	return burn.path
}

// started starts a program and waits until it says "ready". The program ends when its input
// ends.
func started(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	_, out := child.Start(t, cmd)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	go io.Copy(io.Discard, out)
	return cmd
}

// needsPerf skips a test if the kernel does not allow this user to sample: its own
// processes, or all.
func needsPerf(t testing.TB, all bool) {
	t.Helper()
	cpus, err := processors()
	if err != nil {
		t.Fatal(err)
	}
	threads := []int32{int32(os.Getpid())}
	if all {
		threads = nil
	}
	e, err := listen(new(calls), 10, cpus, threads)
	if errors.Is(err, errRefused) {
		t.Skipf("this user may not sample here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.close()
}

// seen counts samples by text, "outer;...;inner".
type seen struct {
	running, waiting map[string]int
	all              []stack.Sample
}

func (s *seen) share(in map[string]int, part string) float64 {
	n, of := 0, 0
	for text, count := range in {
		of += count
		if strings.Contains(text+";", part) {
			n += count
		}
	}
	return float64(n) / float64(max(of, 1))
}

// sampled samples until there are enough samples of running threads.
func sampled(t testing.TB, s *Sampler, wish stack.Wish, enough func(*seen, *stack.Sample) bool) (*seen, stack.Statistics) {
	t.Helper()
	got := &seen{running: map[string]int{}, waiting: map[string]int{}}
	// Other programs may have the processors. No name may be lost for that here.
	namer := symbol.NewNamer(s.Open, symbol.Budget{Time: time.Hour, Bytes: 1 << 30})
	ctx, cancel := context.WithCancel(patience.Context(t, time.Minute))
	defer cancel()
	wish.For = time.Hour
	statistics, err := s.Sample(ctx, wish, func(x *stack.Sample) {
		namer.Name(x)
		var names []string
		for i := len(x.Frames) - 1; i >= 0; i-- {
			name := x.Frames[i].Name
			if x.Frames[i].Kernel {
				name += "[k]"
			}
			names = append(names, name)
		}
		in := got.running
		if x.State == stack.Waiting {
			in = got.waiting
		}
		in[strings.Join(names, ";")] += int(x.Count)
		kept := *x
		kept.Frames = append([]stack.Frame(nil), x.Frames...)
		got.all = append(got.all, kept)
		if enough(got, x) {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, statistics
}

func has(x *stack.Sample, name string) bool {
	return slices.ContainsFunc(x.Frames, func(f stack.Frame) bool { return f.Name == name })
}

func count(in map[string]int) (n int) {
	for _, c := range in {
		n += c
	}
	return n
}

func TestProportionsOfC(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, compiled(t))
	pid := int32(cmd.Process.Pid)
	got, statistics := sampled(t, New(), stack.Wish{PID: pid, Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 500 })
	heavy, light := got.share(got.running, "main;outer;heavy;"), got.share(got.running, "main;outer;light;")
	if whole := heavy + light; whole < 0.95 || heavy/whole < 0.75-0.09 || heavy/whole > 0.75+0.09 {
		t.Errorf("heavy has %.3f, light %.3f: want 3 to 1 and hardly anything else\n%v", heavy, light, got.running)
	}
	// Half a thousand samples of one busy thread are half a second of its time.
	if used := cpuTime(t, pid); used < 450*time.Millisecond {
		t.Errorf("%d samples at 997 a second of a program that used %v", count(got.running), used)
	}
	key := keyOf(t, pid)
	for _, x := range got.all {
		if x.Thread.PID != pid || x.Thread.Process != key || x.Thread.Command != "burn" || x.Count == 0 && x.Waited == 0 || len(x.Frames) == 0 {
			t.Fatalf("%+v", x)
		}
	}
	// A waiting thread is seen as well, with a weight equal to its time.
	waits := got.share(got.waiting, "pipe_read[k];")
	if waits < 0.9 {
		t.Errorf("%.2f wait for pipes:\n%v", waits, got.waiting)
	}
	named := 0
	for _, x := range got.all {
		// At first the thread is still on its way to where it waits.
		if x.Thread.Name == "waiter" && x.State == stack.Waiting {
			named++
			if !strings.Contains(x.Wait, "pipe_read") || !has(&x, "read") || !has(&x, "wait_here") {
				t.Fatalf("the waiting thread: %+v", x)
			}
		}
	}
	if named == 0 {
		t.Error("the waiting thread was not seen")
	}
	if statistics.Samples != count(got.running)+count(got.waiting) || statistics.Rounds == 0 {
		t.Errorf("%+v", statistics)
	}
}

// Go code is seen with its files and lines, on whichever thread it runs.
func TestProportionsOfGo(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, "/proc/self/exe", "burn in Go")
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 500 })
	const here = "tachograph/sample/stack/perf."
	heavy, light := got.share(got.running, here+"goOuter;"+here+"goHeavy;"), got.share(got.running, here+"goOuter;"+here+"goLight;")
	if whole := heavy + light; whole < 0.8 || heavy/whole < 0.75-0.09 || heavy/whole > 0.75+0.09 {
		t.Errorf("heavy has %.3f, light %.3f: want 3 to 1\n%v", heavy, light, got.running)
	}
	for _, x := range got.all {
		for _, f := range x.Frames {
			if f.Name == here+"goHeavy" && (filepath.Base(f.File) != "roles_linux_test.go" || f.Line == 0) {
				t.Fatalf("%+v", f)
			}
		}
	}
}

// Threads that start during a session are sampled, too.
func TestNewThreads(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, compiled(t), "threads")
	threads := make(map[uint64]bool)
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 499}, func(g *seen, x *stack.Sample) bool {
		if has(x, "short_lived") {
			threads[x.Thread.TID] = true
		}
		return len(threads) >= 5
	})
	if len(threads) < 5 {
		t.Errorf("%d threads:\n%v", len(threads), got.running)
	}
}

// A stack that is deeper than the limit is marked as truncated.
func TestDeepStacks(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, compiled(t), "deep")
	pid := cmd.Process.Pid
	got, _ := sampled(t, New(), stack.Wish{PID: int32(pid), Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 20 })
	cut := 0
	for _, x := range got.all {
		if x.State != stack.Running || x.Thread.TID != uint64(pid) {
			continue // the threads that wait may still be on their way
		}
		whole := false
		for _, f := range x.Frames {
			whole = whole || f.Name == "main"
		}
		if whole == (x.End == stack.Truncated) {
			t.Errorf("%d frames, with main %v, %v", len(x.Frames), whole, x.End)
		}
		if x.End == stack.Truncated && len(x.Frames) <= stack.MaxDepth {
			cut++
		}
	}
	if cut < 10 {
		t.Errorf("%d of %d are cut", cut, len(got.all))
	}
}

// In a process with very many threads, all running threads are seen. Waiting threads are
// looked at in turn, and each counts for several.
func TestManyThreads(t *testing.T) {
	needsPerf(t, false)
	cmd := started(t, compiled(t), "many")
	asked := make(map[uint64]bool)
	got, statistics := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool {
		if x.State == stack.Waiting {
			asked[x.Thread.TID] = true
		}
		return len(asked) > 500 && count(g.running) > 50
	})
	if len(asked) <= 500 || got.share(got.running, "main;outer;") < 0.9 {
		t.Errorf("%d threads wait, %v run", len(asked), got.running)
	}
	// A sample of a few waiting threads counts for all 602, over the time until the next
	// one.
	looks, rounds := float64(count(got.waiting))/602, float64(statistics.Rounds)
	// What was missed may be looks, or samples of running threads.
	if looked := rounds - float64(statistics.Missed); looks < looked*0.5-100 || looks > rounds*1.5+200 {
		t.Errorf("threads that wait were counted %.0f times each in %.0f rounds, %d of them missed", looks, rounds, statistics.Missed)
	}
}

// The session ends when the process ends.
func TestProcessEnds(t *testing.T) {
	cmd := started(t, compiled(t))
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 199}, func(g *seen, x *stack.Sample) bool {
		if len(g.all) == 20 {
			cmd.Process.Kill()
		}
		return false
	})
	if len(got.all) < 20 {
		t.Errorf("%d samples", len(got.all))
	}
	if t.Context().Err() != nil {
		t.Error("it went on")
	}
}

// If all processes are sampled, those that begin during the session are known, with their
// files.
func TestAllProcesses(t *testing.T) {
	needsPerf(t, true)
	path := compiled(t)
	busy := started(t, path)
	key := keyOf(t, int32(busy.Process.Pid))
	var short *exec.Cmd
	old, young := 0, 0
	got, statistics := sampled(t, New(), stack.Wish{Rate: 499}, func(g *seen, x *stack.Sample) bool {
		if short == nil {
			short = exec.Command(path, "work", "a little")
			if err := short.Start(); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case !has(x, "outer"):
		case x.Thread.Process == key:
			old++
		case int(x.Thread.PID) == short.Process.Pid && x.Thread.Command == "burn":
			young++
		}
		return old > 20 && young > 20
	})
	if short != nil {
		short.Process.Kill()
		short.Wait()
	}
	if old <= 20 || young <= 20 {
		t.Errorf("the one that was there was seen %d times, the new one %d times", old, young)
	}
	if statistics.How != "perf" || len(got.all) == 0 {
		t.Errorf("%+v", statistics)
	}
}

// Names come from the mapped file, also if the file has no name any more.
func TestDeletedProgram(t *testing.T) {
	needsPerf(t, false)
	path := filepath.Join(t.TempDir(), "burn")
	built.Copy(t, compiled(t), path)
	cmd := started(t, path)
	if err := os.WriteFile(path+".new", []byte("another file"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 499}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 50 })
	if share := got.share(got.running, "main;outer;"); share < 0.9 {
		t.Errorf("%.2f have names:\n%v", share, got.running)
	}
	for _, x := range got.all {
		for _, f := range x.Frames {
			if f.Name == "outer" && (f.Image.Path != path || f.Image.ID == "") {
				t.Fatalf("%+v", f.Image)
			}
		}
	}
}

// A program in a container has its file there. Outside, its path has no file, or another
// one.
func TestContainer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes containers")
	}
	tool, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare is not installed")
	}
	needsPerf(t, false)
	dir := t.TempDir()
	path := filepath.Join(dir, "burn")
	if err := os.WriteFile(path, []byte("another file"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := started(t, tool, "--mount", "sh", "-c", `mount -t tmpfs none "$1" && cp "$2" "$1" && exec "$1/burn"`, "sh", dir, compiled(t))
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= 50 })
	if share := got.share(got.running, "main;outer;"); share < 0.9 {
		t.Errorf("%.2f have names:\n%v", share, got.running)
	}
}

// If the kernel allows no perf events, waiting threads are seen all the same.
func TestWithoutPerf(t *testing.T) {
	cmd := started(t, compiled(t))
	refusing := New()
	refusing.refuse = errRefused
	got, statistics := sampled(t, refusing, stack.Wish{PID: int32(cmd.Process.Pid), Rate: 50}, func(g *seen, x *stack.Sample) bool { return count(g.waiting) >= 20 })
	if statistics.How != "proc" || len(got.running) > 0 || got.share(got.waiting, "pipe_read[k];") < 0.9 {
		t.Errorf("%+v\n%v", statistics, got.waiting)
	}
}

func TestWishesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		wish stack.Wish
		want string
	}{
		"no rate":    {stack.Wish{}, "1 to 1000"},
		"every one":  {stack.Wish{Rate: 1001}, "1 to 1000"},
		"no process": {stack.Wish{PID: 1<<31 - 1, Rate: 10}, "there is no process 2147483647"},
		"negative":   {stack.Wish{PID: -1, Rate: 10}, "there is no process -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New().Sample(t.Context(), c.wish, func(*stack.Sample) { t.Error("a sample") })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// ordinary runs this program as an ordinary user.
type ordinary struct {
	t    *testing.T
	dir  string // that the user may read
	path string
}

func ordinaryUser(t *testing.T) *ordinary {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root becomes somebody else")
	}
	dir, err := os.MkdirTemp("", "nobody") // t.TempDir is its owner's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := &ordinary{t, dir, filepath.Join(dir, "sampler")}
	built.Copy(t, self, o.path)
	return o
}

func (o *ordinary) run(args ...string) string {
	o.t.Helper()
	cmd := exec.Command(o.path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	// A program that measures coverage prints more, but not to standard output.
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// An ordinary user may sample his own processes. For others he gets an error in a sentence.
func TestOrdinaryUser(t *testing.T) {
	as := ordinaryUser(t)
	for _, whom := range []string{"0", strconv.Itoa(os.Getpid())} {
		t.Run(whom, func(t *testing.T) {
			out := as.run("sample", whom)
			if !strings.HasPrefix(out, "stacks of ") || !strings.Contains(out, "cannot be sampled by this user") || !strings.Contains(out, "as root") || strings.Count(out, "\n") != 1 {
				t.Errorf("%q", out)
			}
		})
	}
	t.Run("its own", func(t *testing.T) {
		needsPerf(t, false)
		if limit("perf_event_paranoid", 0) > 2 {
			t.Skip("the kernel allows no perf events to users without rights")
		}
		if out := as.run("sample", "own"); !strings.Contains(out, "perf: goOuter was seen") {
			t.Errorf("%q", out)
		}
	})
}

func keyOf(t *testing.T, pid int32) string {
	t.Helper()
	st, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return procfs.Key(pid, st.StartTime)
}

func cpuTime(t testing.TB, pid int32) time.Duration {
	t.Helper()
	st, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(st.UTime+st.STime) * 10 * time.Millisecond
}
