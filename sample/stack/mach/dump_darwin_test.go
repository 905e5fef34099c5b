package mach

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// TestDump runs the commands in TACHO_STACKS and prints their results. It is the program
// that the other tests run on the simulated Mac. Commands are separated by semicolons: a
// word, a process, for how long, how often a second, and perhaps a number. The number is how
// many samples are enough, so that a session ends, or for "kill" the call at which to do it.
// With a file TACHO_STACKS_CLOCK, which the simulated clocks follow, next to no time passes
// before the first sample.
func TestDump(t *testing.T) {
	do := os.Getenv("TACHO_STACKS")
	if do == "" {
		t.Skip("this is the program of the other tests")
	}
	s := &Sampler{newDarwinKernel, &refusals{}}
	for _, command := range strings.Split(do, ";") {
		words := strings.Fields(command)
		if len(words) < 4 {
			t.Fatalf("what is %q?", command)
		}
		pid, err1 := strconv.Atoi(words[1])
		length, err2 := time.ParseDuration(words[2])
		rate, err3 := strconv.Atoi(words[3])
		n, err4 := math.MaxInt, error(nil)
		if len(words) > 4 {
			n, err4 = strconv.Atoi(words[4])
		}
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		if pid < 0 {
			pid = os.Getpid()
		}
		wish := stack.Wish{PID: int32(pid), Rate: rate, For: length}
		switch words[0] {
		case "sample":
			fmt.Println("do", command)
			d := dump{}
			st, err := until(n, s, wish, func(s *stack.Sample) {
				d.give(s)
				timePasses()
			})
			d.print(st, err)
		case "fail":
			failEach(wish, n)
		case "measure":
			fmt.Println("do", command)
			frames := 0
			before := processorTime()
			st, err := s.Sample(context.Background(), wish, func(s *stack.Sample) { frames += len(s.Frames) })
			fmt.Printf("measured %d samples %d frames %d suspensions %d ns each %d median %d longest %d missed\n", st.Samples,
				frames, st.Suspensions, (processorTime()-before)/int64(max(st.Samples, 1)), st.Median, st.Longest, st.Missed)
			if err != nil {
				t.Fatal(err)
			}
		case "kill":
			t := &trap{at: n, act: func(call string) (code, bool) {
				fmt.Println("killed at", call)
				syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
				select {}
			}}
			(&Sampler{t.open, &refusals{}}).Sample(context.Background(), wish, func(*stack.Sample) {})
			fmt.Println("alive after", t.calls, "calls")
		}
	}
}

// timePasses lets the simulated time pass from now on: a millisecond each time this program
// has waited for a real one. So on a busy machine, where the program does less, less time
// passes.
var timePasses = sync.OnceFunc(func() {
	name := os.Getenv("TACHO_STACKS_CLOCK")
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	go func() {
		for passed := time.Duration(0); ; passed += time.Millisecond {
			if _, err := file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(passed)), 0); err != nil {
				panic(err)
			}
			// Go's own clock is simulated; the timeout of select is not.
			_, _ = unix.Select(0, nil, nil, nil, &unix.Timeval{Usec: 1000})
		}
	}()
})

// until samples until enough samples have come.
func until(enough int, s *Sampler, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	return s.Sample(ctx, wish, func(s *stack.Sample) {
		give(s)
		if n++; n == enough {
			cancel()
		}
	})
}

// processorTime returns the processor time that this program has used, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

type dump map[string]int

func (d dump) give(s *stack.Sample) {
	h := s.Thread
	if s.Waited > 0 {
		text := fmt.Sprintf("waited %d/%x", h.PID, h.TID)
		if w := s.Waker; w != nil {
			text += fmt.Sprintf(" for %d/%s/%s/%x|%s|%s", w.Thread.PID, w.Thread.Process, w.Thread.Command, w.Thread.TID, w.Thread.Name, w.Thread.Queue)
		}
		d[text] += int(s.Waited / 1e6)
	}
	d[fmt.Sprintf("%d/%s/%s/%x|%s|%s|%d|%s|%d|%s", h.PID, h.Process, h.Command, h.TID, h.Name, h.Queue, s.State, s.Wait, s.End, frames(s))]++
}

// knownCaches lists the slides of the scenario's shared caches, by UUID.
var knownCaches = map[string]uint64{"11111111-2222-3333-4444-555555555555": 0x4c4000, "99999999-2222-3333-4444-555555555555": 0x2000}

// frames returns the frames as text, the innermost first.
func frames(s *stack.Sample) string {
	var out []string
	for i := range s.Frames {
		f := &s.Frames[i]
		text := fmt.Sprintf("%x", f.Offset())
		if f.Start > 0 {
			text = fmt.Sprintf("%s:%d,%d", filepath.Base(f.File), f.Line, f.Start)
		}
		if f.Image != nil {
			name := filepath.Base(f.Image.Path)
			if f.Image.Path == "" {
				name = f.Image.ID
			}
			text = name + "+" + text
			if f.Image.Cache {
				text = "cache:" + text
			}
			if known := knownCaches[f.Image.CacheID]; known != f.Image.CacheSlide || f.Image.Cache != (known != 0) {
				text = fmt.Sprintf("in cache %q at %x:%s", f.Image.CacheID, f.Image.CacheSlide, text)
			}
		}
		if f.Name != "" {
			text = f.Name + "@" + text
		}
		if f.Kernel {
			text = "K:" + text
		}
		if n := len(out); n > 3 && text == out[n-1] {
			continue // a deep stack
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func (d dump) print(st stack.Statistics, err error) {
	var lines []string
	for text, n := range d {
		if !strings.HasPrefix(text, "waited ") {
			text = "got " + text
		}
		lines = append(lines, fmt.Sprintf("%s = %d", text, n))
	}
	sort.Strings(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	fmt.Printf("statistics rounds %d missed %d samples %d gone %d failed %d suspensions %d tasks %d longest %d hung %d %v how %s why %s\n",
		st.Rounds, st.Missed, st.Samples, st.Gone, st.Failed, st.Suspensions, st.Tasks, st.Longest, len(st.Hung), st.Hung, st.How, st.Why)
	if err != nil {
		fmt.Println("error", err)
	}
}

// trap is a kernel that returns something else for one call.
type trap struct {
	kernel
	at, calls int
	act       func(call string) (c code, fails bool)
	last      string
}

func (t *trap) open() kernel {
	t.kernel = newDarwinKernel()
	return t
}

// hit counts a call, and says whether it fails, and with which code.
func (t *trap) hit(call string) (code, bool) {
	t.calls++
	if t.calls != t.at {
		return 0, false
	}
	t.last = call
	return t.act(call)
}

func (t *trap) Open(pid int32) (port, int, error) {
	if _, fails := t.hit("Open"); fails {
		return 0, 1, errRefused
	}
	return t.kernel.Open(pid)
}

func (t *trap) Process(pid int32) (process, bool) {
	if _, fails := t.hit("Process"); fails {
		return process{}, false
	}
	return t.kernel.Process(pid)
}

func (t *trap) Threads(task port, to []port) ([]port, code) {
	if c, fails := t.hit("Threads"); fails {
		return to, c
	}
	return t.kernel.Threads(task, to)
}

func (t *trap) Identify(thread port, id *identity) code {
	if c, fails := t.hit("Identify"); fails {
		return c
	}
	return t.kernel.Identify(thread, id)
}

func (t *trap) Describe(thread port, d *description) code {
	if c, fails := t.hit("Describe"); fails {
		return c
	}
	return t.kernel.Describe(thread, d)
}

func (t *trap) Registers(thread port, translated bool, r *chain.Registers) code {
	if c, fails := t.hit("Registers"); fails {
		return c
	}
	return t.kernel.Registers(thread, translated, r)
}

func (t *trap) Read(task port, addr uint64, b []byte) bool {
	if _, fails := t.hit("Read"); fails {
		return false
	}
	return t.kernel.Read(task, addr, b)
}

func (t *trap) Suspend(task port) (port, code) {
	if c, fails := t.hit("Suspend"); fails {
		return 0, c
	}
	return t.kernel.Suspend(task)
}

func (t *trap) Resume(token port) code {
	if c, fails := t.hit("Resume"); fails {
		return c
	}
	return t.kernel.Resume(token)
}

func (t *trap) Close(p port) {
	t.hit("Close") // cannot fail, but may be the last call
	t.kernel.Close(p)
}

func (t *trap) Dyld(task port) (at, size uint64) {
	if _, fails := t.hit("Dyld"); fails {
		return 0, 0
	}
	return t.kernel.Dyld(task)
}

func (t *trap) Shot(pid int32, flags uint64, read func([]byte)) error {
	if c, fails := t.hit("Shot"); fails {
		return syscall.Errno(c)
	}
	return t.kernel.Shot(pid, flags, read)
}

// failEach lets each call of a session fail in turn, once as if its object were gone and
// once without a reason.
func failEach(wish stack.Wish, enough int) {
	for _, c := range []code{kernTerminated, 5} {
		failed := map[string]int{}
		for n := 1; ; n++ {
			t := &trap{at: n, act: func(string) (code, bool) { return c, true }}
			samples := 0
			st, err := until(enough, &Sampler{t.open, &refusals{}}, wish, func(*stack.Sample) { samples++ })
			if t.last == "" {
				break
			}
			failed[t.last]++
			if st.Samples != samples {
				fmt.Printf("bad: %d samples given, %d counted, when call %d, %s, gave %d\n", samples, st.Samples, n, t.last, c)
			}
			if samples == 0 && err == nil {
				fmt.Printf("bad: nothing seen and no error when call %d, %s, gave %d\n", n, t.last, c)
			}
		}
		fmt.Println("failed", c, failed)
	}
}
