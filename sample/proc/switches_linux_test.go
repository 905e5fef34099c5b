package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// switchThreads is the role of a process with three threads beside the first. Each of them
// waits four hundred times. Then one ends, and two stay.
func switchThreads() {
	runtime.GOMAXPROCS(4)
	var all sync.WaitGroup
	for i := range 3 {
		all.Add(1)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			for range 400 {
				_ = syscall.Nanosleep(&syscall.Timespec{Nsec: int64(time.Microsecond)}, nil)
			}
			all.Done()
			if i > 0 {
				_ = syscall.Pause()
			}
		}()
	}
	all.Wait()
}

// The context switches of a process are those of all its threads, including the ones that
// ended, and do not leap when the process ends. Otherwise they are absent.
func TestSwitchesOfAllThreads(t *testing.T) {
	r := openReader(t, Options{}, everything)
	r.read("proc")
	a := start(t, "switch", nil)
	a.await("done")
	r.read("proc")
	key := a.key()
	if kernelOf(r).asker == nil {
		for _, name := range []string{"proc.psinfo.vctxsw", "proc.psinfo.nvctxsw", "proc.psinfo.pswitch"} {
			if v := r.value("proc", key, name); v.Miss != firstOnly {
				t.Errorf("%s is %s", name, v)
			}
		}
		return
	}
	before := number64(t, r, key, "proc.psinfo.vctxsw")
	if before < 1150 {
		t.Errorf("%d switches of a process whose threads have waited 1200 times", before)
	}
	if sum := number64(t, r, key, "proc.psinfo.pswitch"); sum < before {
		t.Errorf("%d switches, of which %d are voluntary", sum, before)
	}
	a.finish()
	u := a.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	e := findEvent(r.read("proc"), metric.EventProcessExit, key)
	if e == nil {
		t.Fatal("no exit event")
	}
	after, _ := strconv.ParseUint(e.Label("proc.psinfo.vctxsw"), 10, 64)
	if after < before || after > uint64(u.Nvcsw)+1 || after+50 < uint64(u.Nvcsw) {
		t.Errorf("%d switches at the end after %d, the kernel told its parent %d", after, before, u.Nvcsw)
	}
}

// BenchmarkAskForSwitches: the cost is about the same for any number of threads.
func BenchmarkAskForSwitches(b *testing.B) {
	w := startWatcher()
	if w == nil || w.named != nil {
		b.Skip("only root may ask for taskstats")
	}
	defer w.stop()
	a := openGroupAsker(w.family)
	defer a.close()
	for _, threads := range []int{1, 8, 64, 512} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			quit := make(chan struct{})
			var all sync.WaitGroup
			for range threads {
				all.Add(1)
				go func() { runtime.LockOSThread(); all.Done(); <-quit }()
			}
			all.Wait()
			defer close(quit)
			pid := int32(syscall.Getpid())
			for b.Loop() {
				if _, why := a.switches(pid); why != metric.Present {
					b.Fatal(why)
				}
			}
		})
	}
}

// While packages are initialised, the Go runtime keeps the main goroutine on the first
// thread.
func init() {
	if os.Getenv(roleVariable) == "headless" {
		headless()
	}
}

// headless is the role of a process that continues without its first thread, on which
// headless is called.
func headless() {
	runtime.GOMAXPROCS(4)
	go func() {
		first := fmt.Sprintf("/proc/self/task/%d/stat", syscall.Getpid())
		for {
			text, err := os.ReadFile(first)
			if err != nil || bytes.Contains(text, []byte(") Z ")) {
				break
			}
			runtime.Gosched()
		}
		fmt.Println("done")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// A process whose first thread has ended still lives. Values that the kernel shows of that
// thread only are absent and not zero.
func TestProcessWithoutItsFirstThread(t *testing.T) {
	r := openReader(t, Options{}, everything)
	r.read("proc")
	a := start(t, "headless", nil)
	a.await("done")
	key := a.key()
	if e := findEvent(r.read("proc"), metric.EventProcessExit, key); e != nil {
		t.Errorf("it is said to have ended: %s", e.Text)
	}
	for _, name := range []string{"proc.memory.rss", "proc.memory.size", "proc.memory.anon", "proc.memory.footprint", "proc.fd.count", "proc.psinfo.cwd", "proc.psinfo.delayacct_blkio_time"} {
		if v := r.value("proc", key, name); v.Miss != firstEnded {
			t.Errorf("%s is %s (%s)", name, v, v.Miss)
		}
	}
	expectActing(t, r, a.cmd.Process.Pid, key)
	a.finish()
	if findEvent(r.read("proc"), metric.EventProcessExit, key) == nil {
		t.Error("it is not said to have ended")
	}
}
