package perf

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
	"tachograph/testdata/child"
	"tachograph/testdata/patience"
)

// waiter is a run of testdata/wait.c.
type waiter struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startWaiter compiles and starts it. It goes on when a line comes in.
func startWaiter(t testing.TB, args ...string) *waiter {
	t.Helper()
	return startBuilt(t, []string{"-O0", "-fno-omit-frame-pointer", "-Wl,--build-id", "-pthread"}, args...)
}

// startBuilt is startWaiter with the compiler's flags.
func startBuilt(t testing.TB, flags []string, args ...string) *waiter {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler here (cc), which makes the program that is sampled")
	}
	path := filepath.Join(t.TempDir(), "wait")
	if out, err := exec.Command(cc, append(flags, "-o", path, "testdata/wait.c")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := &waiter{cmd: exec.Command(path, args...)}
	w.cmd.Stderr = os.Stderr
	w.in, w.out = child.Start(t, w.cmd)
	if line, err := w.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return w
}

// measured samples the program until it has printed as many lines, and returns these.
func (w *waiter) measured(t testing.TB, s *Sampler, lines int, give func(*stack.Sample)) ([]string, stack.Statistics) {
	t.Helper()
	ctx, cancel := context.WithCancel(patience.Context(t, time.Minute))
	defer cancel()
	namer := symbol.NewNamer(s.Open, symbol.Budget{Time: time.Hour, Bytes: 1 << 30})
	said := make(chan []string, 1)
	begun := false
	statistics, err := s.Sample(ctx, stack.Wish{PID: int32(w.cmd.Process.Pid), Rate: 99, For: time.Hour}, func(x *stack.Sample) {
		if !begun { // main was seen waiting for its input
			begun = true
			fmt.Fprintln(w.in)
			go func() {
				var all []string
				for range lines {
					line, err := w.out.ReadString('\n')
					if err != nil {
						break
					}
					all = append(all, line)
				}
				said <- all
				cancel()
			}()
		}
		namer.Name(x)
		give(x)
	})
	if err != nil {
		t.Fatal(err)
	}
	all := <-said
	if len(all) != lines {
		t.Fatalf("the program printed %q", all)
	}
	return all, statistics
}

// withTracefs mounts tracefs for the test; it returns false if there is none.
func withTracefs(t testing.TB) bool {
	dir := t.TempDir()
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
		_, err := os.ReadDir(tracefs[0])
		return err == nil
	}
	before := tracefs
	tracefs = []string{dir + "/events/"}
	t.Cleanup(func() {
		tracefs = before
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return true
}

func needsWaits(t testing.TB) {
	t.Helper()
	needsPerf(t, false)
	x := &session{wish: stack.Wish{PID: int32(os.Getpid())}, processes: newProcesses(), calls: new(calls), stacks: mostStacks}
	if err := x.listen([]int32{int32(os.Getpid())}); err != nil {
		t.Fatal(err)
	}
	defer x.events.close()
	if x.measure([]int32{int32(os.Getpid())}); x.switches == nil {
		t.Skipf("the kernel does not let this user measure waits: %s", x.statistics.WaitsWhy)
	}
	x.switches.close()
}

// If copies of stacks fill the rings sooner than they are read, it goes on without them.
func TestWaitsGoOnWithoutCopies(t *testing.T) {
	needsWaits(t)
	w := startWaiter(t)
	pid := int32(w.cmd.Process.Pid)
	x := &session{wish: stack.Wish{PID: pid}, processes: newProcesses(), images: newImages(), calls: new(calls), stacks: mostStacks}
	threads, err := threadsOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.listen(threads); err != nil {
		t.Fatal(err)
	}
	defer x.events.close()
	x.measure(threads)
	m := x.switches
	defer m.close()
	if m.events.copies != switchCopy && own.machine != nil {
		t.Errorf("it has copies of %d bytes", m.events.copies)
	}
	m.events.copies = switchCopy // also where there were none
	m.pace.on, m.pace.since, m.pace.every = false, monotonic(), 1000
	m.hear(&switched{kind: kindLost, lost: 3}, false)
	m.drain(monotonic())
	if m.events.copies != 0 || m.losses != 0 || len(m.events.rings) == 0 || len(m.sources) < len(m.events.rings) || x.statistics.WaitsLost != 3 {
		t.Errorf("copies of %d bytes, %d losses, %d rings, %d sources, %+v", m.events.copies, m.losses, len(m.events.rings), len(m.sources), x.statistics)
	}
	if stacks := len(m.events.fds) - m.pace.fds; !m.pace.on || stacks < len(m.events.rings) {
		t.Errorf("%d of %d events are of stacks, on: %t", stacks, len(m.events.fds), m.pace.on)
	}
}

// The stacks of waits in a program without frame pointers are whole.
func TestWaitsWithoutFramePointers(t *testing.T) {
	needsWaits(t)
	w := startBuilt(t, withoutFrames)
	pid := w.cmd.Process.Pid
	var whole, all uint64
	seen := make(map[string]int)
	_, statistics := w.measured(t, New(), 5, func(x *stack.Sample) {
		if x.Waited == 0 || int(x.Thread.TID) != pid {
			return
		}
		seen[fmt.Sprint(x.End, len(x.Frames), x.Frames[len(x.Frames)-1].Name)]++
		if all += x.Waited; x.End == stack.Whole && has(x, "main") && x.Frames[len(x.Frames)-1].Name == "_start" {
			whole += x.Waited
		}
	})
	if statistics.Waits == 0 || float64(whole) < 0.95*float64(all) {
		t.Errorf("%d of %d ns have whole stacks, of %d waits: %v", whole, all, statistics.Waits, seen)
	}
}

// Waits are as long as the program itself says, and it is known who ended them.
func TestWaits(t *testing.T) {
	traced := withTracefs(t)
	needsWaits(t)
	undisturbed(t, func(wrong func(string, ...any)) { checkWaits(t, traced, wrong) })
}

// undisturbed has a check succeed once in a few times: between the end of a wait and the moment
// at which a program looks at its clock, a busy machine may take the processor from it.
func undisturbed(t *testing.T, check func(wrong func(string, ...any))) {
	t.Helper()
	var all []string
	for range 4 {
		before := len(all)
		if check(func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }); len(all) == before {
			return
		}
	}
	t.Error(strings.Join(all, "\n"))
}

func checkWaits(t *testing.T, traced bool, wrong func(string, ...any)) {
	w := startWaiter(t)
	pid := w.cmd.Process.Pid
	type key struct{ thread, in string }
	waited := make(map[key]uint64)
	woken := make(map[string]uint64) // waits of main, by who ended them
	looks := 0
	lines, statistics := w.measured(t, New(), 5, func(x *stack.Sample) {
		if x.State != stack.Waiting {
			if x.Waited > 0 || x.Waker != nil {
				t.Errorf("a running thread waited: %+v", x)
			}
			return
		}
		name := x.Thread.Name
		if int(x.Thread.TID) == pid {
			name = "main"
		}
		for _, in := range []string{"await_worker", "rest", "take_lock"} {
			if !has(x, in) {
				continue
			}
			waited[key{name, in}] += x.Waited
			if in == "await_worker" {
				looks += int(x.Count)
				by := "?"
				if x.Waker != nil {
					by = stack.Interrupt
					if x.Waker.Thread.PID != 0 {
						by = x.Waker.Thread.Name
					}
					if by == "worker-3" && (!has(&stack.Sample{Frames: x.Waker.Frames}, "tell_main") || int(x.Waker.Thread.PID) != pid) {
						t.Errorf("the waker is %+v", x.Waker)
					}
				}
				woken[by] += x.Waited
			}
			if in == "rest" && x.Waker != nil && x.Waker.Thread.PID != 0 {
				woken["not the timer"] += x.Waited
			}
		}
	})
	want := make(map[key]float64)
	for _, line := range lines {
		var name string
		var ns float64
		fmt.Sscan(line, &name, &ns)
		in := map[string]string{"main": "await_worker", "worker-3": "rest"}[name]
		if in == "" {
			in = "take_lock"
		}
		want[key{name, in}] = ns
	}
	for k, ns := range want {
		// A wait of less than a turn need not have slept at all.
		if got := float64(waited[k]); math.Abs(got-ns) > max(0.1*ns, 20e6) {
			wrong("%s waited %.0f ms in %s, by its own clock %.0f ms", k.thread, got/1e6, k.in, ns/1e6)
		}
	}
	if statistics.Waits < 20+20+10 || looks == 0 || statistics.WaitsLost > 0 {
		wrong("%d looks, %+v", looks, statistics)
	}
	if traced {
		if main := waited[key{"main", "await_worker"}]; float64(woken["worker-3"]) < 0.9*float64(main) {
			wrong("of main's %d ns, these ended: %v; %s", main, woken, statistics.WaitsWhy)
		}
		if woken["not the timer"] > waited[key{"worker-3", "rest"}]/10 {
			wrong("the timer did not end %v", woken)
		}
	} else if woken["?"] != waited[key{"main", "await_worker"}] || statistics.WaitsWhy == "" {
		wrong("without tracefs, these ended waits: %v; %q", woken, statistics.WaitsWhy)
	}
}

// Of very many waits, some represent all.
func TestBriefWaits(t *testing.T) {
	needsWaits(t)
	undisturbed(t, func(wrong func(string, ...any)) { checkBriefWaits(t, wrong) })
}

func checkBriefWaits(t *testing.T, wrong func(string, ...any)) {
	w := startWaiter(t, "3000", "100000")
	var waited float64
	sampler := New()
	sampler.stacks = 50
	lines, statistics := w.measured(t, sampler, 1, func(x *stack.Sample) {
		if int(x.Thread.TID) == w.cmd.Process.Pid && has(x, "await_worker") {
			waited += float64(x.Waited)
		}
	})
	var took, own float64
	fmt.Sscan(lines[0], &took, &own)
	if math.Abs(waited-own) > 0.25*own {
		wrong("it waited %.0f ms, by its own clock %.0f ms; %+v", waited/1e6, own/1e6, statistics)
	}
}

// A thread that was started during a session is heard of as well when another wakes it.
func TestWakesOfNewThreads(t *testing.T) {
	traced := withTracefs(t)
	needsWaits(t)
	if !traced {
		t.Skip("the kernel shows its tracepoints to this user nowhere")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here := int32(unix.Gettid())
	x := &session{wish: stack.Wish{PID: int32(os.Getpid())}, processes: newProcesses(), calls: new(calls), stacks: mostStacks}
	if err := x.listen([]int32{here}); err != nil {
		t.Fatal(err)
	}
	defer x.events.close()
	if x.measure([]int32{here}); x.switches == nil || len(x.switches.wakes.rings) == 0 {
		t.Fatal(x.statistics.WaitsWhy)
	}
	m := x.switches
	defer m.close()
	var pipe, back [2]int
	for _, p := range []*[2]int{&pipe, &back} {
		if err := unix.Pipe(p[:]); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
	}
	other := make(chan int32, 1)
	go func() {
		runtime.LockOSThread()
		other <- int32(unix.Gettid())
		var b [1]byte
		for {
			if n, err := unix.Read(pipe[0], b[:]); n < 1 && err != unix.EINTR || b[0] == 0 {
				return
			} else if n == 1 {
				unix.Write(back[1], b[:])
			}
		}
	}()
	tid := <-other
	defer unix.Write(pipe[1], []byte{0})
	m.follow([]int32{here, tid})
	for ctx := patience.Context(t, time.Minute); ctx.Err() == nil; {
		var b [1]byte
		unix.Write(pipe[1], []byte{1})
		unix.Read(back[0], b[:])
		for i := range m.sources {
			c := &m.sources[i]
			for c.take(); c.ok; c.advance() {
				if !c.wakes {
					continue
				}
				if woken, interrupt, ok := m.fields.read(&c.head); ok && woken == tid && !interrupt && c.head.tid == here {
					return
				}
			}
		}
	}
	t.Errorf("thread %d was never woken by %d; %s", tid, here, x.statistics.WaitsWhy)
}
