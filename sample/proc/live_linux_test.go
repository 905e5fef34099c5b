package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
	"tachograph/testdata/child"
	"tachograph/testdata/patience"
)

// These tests start real processes, which are this test program in other roles, and compare
// the source's values with the kernel's.

const roleVariable = "TACHOGRAPH_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		playRole(role)
		return
	}
	os.Exit(m.Run())
}

// playRole does what its role requires, says so, and waits until its input ends.
func playRole(role string) {
	runtime.GOMAXPROCS(1)
	name, argument, _ := strings.Cut(role, " ")
	var keep []byte
	switch name {
	case "talk":
		talk()
		return
	case "burn":
		for cpuTime() < 300e6 {
		}
	case "write":
		f, err := os.Create(argument)
		if err != nil {
			panic(err)
		}
		for range 64 {
			if _, err := f.Write(make([]byte, 128<<10)); err != nil {
				panic(err)
			}
		}
		if err := f.Sync(); err != nil {
			panic(err)
		}
	case "allocate":
		keep = make([]byte, 64<<20)
		for i := 0; i < len(keep); i += 4096 {
			keep[i] = 1
		}
	case "threads":
		runtime.GOMAXPROCS(4)
		for range 3 {
			go func() {
				runtime.LockOSThread()
				syscall.Pause()
			}()
		}
	case "switch":
		switchThreads()
	case "look":
		look()
	}
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(keep)
	if name == "exit" {
		code, _ := strconv.Atoi(argument)
		os.Exit(code)
	}
}

// actor is a process in a role.
type actor struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, role string, change func(*exec.Cmd)) *actor {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	if change != nil {
		change(cmd)
	}
	in, out := child.Start(t, cmd)
	return &actor{t, cmd, in, out}
}

func (a *actor) await(line string) {
	a.t.Helper()
	for {
		got, err := a.out.ReadString('\n')
		if err != nil {
			a.t.Fatalf("waiting for %q: %v", line, err)
		}
		if strings.TrimSpace(got) == line {
			return
		}
	}
}

func (a *actor) finish() {
	a.in.Close()
	a.cmd.Wait()
}

// key returns the key of the actor's instance, computed without the tested code.
func (a *actor) key() string {
	a.t.Helper()
	return keyOf(a.t, a.cmd.Process.Pid)
}

func keyOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return fmt.Sprintf("%d/%s", pid, fields[19])
}

func number64(t *testing.T, r *reader, key, name string) uint64 {
	t.Helper()
	v := r.value("proc", key, name)
	if v.Miss != metric.Present {
		t.Fatalf("%s of %s is missing: %s", name, key, v.Miss)
	}
	return v.Bits
}

func TestBurner(t *testing.T) {
	r := openReader(t, Options{}, everything)
	r.read("proc")
	a := start(t, "burn", nil)
	a.await("done")
	key := a.key()
	ev := r.read("proc")
	if findEvent(ev, metric.EventProcessStart, key) == nil {
		t.Errorf("no start event")
	}
	got := number64(t, r, key, "proc.psinfo.utime") + number64(t, r, key, "proc.psinfo.stime")
	if got < 290 || got > 1000 {
		t.Errorf("a process that burned 300 ms of CPU time is said to have used %d ms", got)
	}
	if parent := r.instance("proc", key).Label("parent"); parent != keyOf(t, os.Getpid()) {
		t.Errorf("its parent is %q, not this test", parent)
	}
	a.finish()
	u := a.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	e := findEvent(r.read("proc"), metric.EventProcessExit, key)
	if e == nil {
		t.Fatal("no exit event")
	}
	switch w := kernelOf(r).watch; {
	case w == nil:
		return // not allowed to listen for exits
	case w.named != nil: // an ordinary user: knows exits, but not final totals
		if e.Label("how") != "exit 0" || e.Label("last_seen") != "" || e.Label("proc.psinfo.utime") != "" || slices.Contains(r.rows("proc"), key) {
			t.Errorf("exit event %+v, rows %q", e, r.rows("proc"))
		}
		return
	}
	final := func(name string) int64 {
		v, err := strconv.ParseInt(e.Label(name), 10, 64)
		if err != nil {
			t.Errorf("final %s: %v in %+v", name, err, e)
		}
		return v
	}
	sum := final("proc.psinfo.utime") + final("proc.psinfo.stime")
	if want := (u.Utime.Nano() + u.Stime.Nano()) / 1e6; sum < want-20 || sum > want+20 {
		t.Errorf("final CPU time %d ms, the kernel told its parent %d ms", sum, want)
	}
	if f := final("proc.psinfo.minflt"); f < u.Minflt-50 || f > u.Minflt+50 {
		t.Errorf("final faults %d, the kernel told its parent %d", f, u.Minflt)
	}
	if e.Label("how") != "exit 0" || e.Label("last_seen") != "" {
		t.Errorf("exit event %+v", e)
	}
	if got := r.value("proc", key, "proc.psinfo.utime"); got.String() != e.Label("proc.psinfo.utime") {
		t.Errorf("the last row says %s, the event %s", got, e.Label("proc.psinfo.utime"))
	}
	r.expect("proc", key, map[string]string{"proc.memory.rss": "!vanished", "proc.psinfo.pid": strconv.Itoa(a.cmd.Process.Pid)})
	r.read("proc")
	if slices.Contains(r.rows("proc"), key) {
		t.Error("the dead process has a row again")
	}
}

func TestWriter(t *testing.T) {
	a := start(t, "write "+filepath.Join(t.TempDir(), "f"), nil)
	a.await("done")
	r := openReader(t, Options{}, everything)
	numbers := func() map[string]uint64 { return kernelNumbers(t, a.cmd.Process.Pid, "io") }
	least := numbers()
	r.read("proc")
	key, most := a.key(), numbers()
	if least["wchar"] < 8<<20 {
		t.Fatalf("the writer wrote only %d bytes", least["wchar"])
	}
	for name, field := range map[string]string{
		"proc.io.wchar": "wchar", "proc.io.logical_writes": "wchar", "proc.io.write_bytes": "write_bytes",
		"proc.io.syscw": "syscw", "proc.io.rchar": "rchar", "proc.io.read_bytes": "read_bytes",
	} {
		expectBetween(t, name, number64(t, r, key, name), least[field], most[field])
	}
	a.finish()
}

func TestAllocator(t *testing.T) {
	a := start(t, "allocate", nil)
	a.await("done")
	r := openReader(t, Options{}, everything)
	numbers := func() map[string]uint64 {
		m := kernelNumbers(t, a.cmd.Process.Pid, "status")
		m["fd"] = entries(t, fmt.Sprintf("/proc/%d/fd", a.cmd.Process.Pid))
		return m
	}
	before := numbers()
	r.read("proc")
	key, after := a.key(), numbers()
	least := func(name string) uint64 { return min(before[name], after[name]) }
	most := func(name string) uint64 { return max(before[name], after[name]) }
	rss := number64(t, r, key, "proc.memory.rss")
	expectBetween(t, "rss in KiB", rss, max(64<<10, least("VmRSS")), most("VmRSS"))
	if sum := number64(t, r, key, "proc.memory.anon") + number64(t, r, key, "proc.memory.share"); sum != rss {
		t.Errorf("rss %d KiB, and %d KiB of anonymous and shared memory", rss, sum)
	}
	expectBetween(t, "size in KiB", number64(t, r, key, "proc.memory.size"), least("VmSize"), most("VmSize"))
	if got := number64(t, r, key, "proc.memory.vmhwm"); got < rss-2048 {
		t.Errorf("peak %d KiB below the resident size %d KiB", got, rss)
	}
	if got := number64(t, r, key, "proc.memory.footprint"); got < 64<<10 {
		t.Errorf("footprint %d KiB", got)
	}
	expectBetween(t, "descriptors", number64(t, r, key, "proc.fd.count"), least("fd"), most("fd"))
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", a.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if want, ok := procfs.OpenFiles(limits); !ok || number64(t, r, key, "proc.fd.limit") != want {
		t.Errorf("it may open %d files, the kernel says %d", number64(t, r, key, "proc.fd.limit"), want)
	}
	a.finish()
}

// expectBetween compares a value with the kernel's just before and just after. In a waiting
// process, Go's runtime may wake up, create a thread, and be charged for it.
func expectBetween(t *testing.T, name string, got, least, most uint64) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: %d, the kernel says %d to %d", name, got, least, most)
	}
}

// kernelNumbers reads "key: number" lines.
func kernelNumbers(t *testing.T, pid int, file string) map[string]uint64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]uint64)
	for l := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(l, ":")
		if f := strings.Fields(rest); len(f) > 0 {
			m[key], _ = strconv.ParseUint(f[0], 10, 64)
		}
	}
	return m
}

func entries(t *testing.T, dir string) uint64 {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(len(es))
}

func TestShortLivedAreCounted(t *testing.T) {
	r := openReader(t, Options{}, everything)
	r.read("proc")
	before := r.value("procs", "", "proc.unseen_max").Bits
	const n = 30
	for range n {
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	r.read("proc")
	if got := r.value("procs", "", "proc.unseen_max").Bits - before; got < n {
		t.Errorf("at most %d processes lived unseen, but there were %d", got, n)
	}
	v := r.value("procs", "", "proc.unseen")
	if v.Miss == needsNetAdmin {
		return
	}
	if v.Bits < n {
		t.Errorf("%s processes lived unseen, but there were %d", v, n)
	}
	if started := r.value("procs", "", "proc.started").Bits; started < v.Bits {
		t.Errorf("%d started, %s of them unseen", started, v)
	}
}

func TestHowTheyEnded(t *testing.T) {
	r := openReader(t, Options{}, everything)
	exits := start(t, "exit 7", nil)
	killed := start(t, "wait", nil)
	exits.await("done")
	killed.await("done")
	r.read("proc")
	exitKey, killKey := exits.key(), killed.key()
	exits.in.Close()
	if err := killed.cmd.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitForZombie(t, exits.cmd.Process.Pid)
	waitForZombie(t, killed.cmd.Process.Pid)
	ev := r.read("proc")
	for key, how := range map[string]string{exitKey: "exit 7", killKey: "signal 9"} {
		t.Run(how, func(t *testing.T) {
			if e := findEvent(ev, metric.EventProcessExit, key); e == nil || e.Label("how") != how {
				t.Errorf("%s: %+v, want %s", key, e, how)
			}
			r.expect("proc", key, map[string]string{"proc.psinfo.sname": "Z"})
		})
	}
	exits.finish()
	killed.finish()
	if ev := r.read("proc"); findEvent(ev, metric.EventProcessExit, exitKey) != nil {
		t.Error("the exit was told twice")
	}
}

func waitForZombie(t *testing.T, pid int) {
	t.Helper()
	patience.Until(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		var s procfs.Stat
		// Its first thread may have ended before the others.
		return s.Parse(text) == nil && s.State == 'Z' && s.Threads <= 1
	})
}

func TestThreadsOfARealProcess(t *testing.T) {
	a := start(t, "threads", nil)
	a.await("done")
	pid := a.cmd.Process.Pid
	r := openReader(t, Options{ThreadPattern: strconv.Itoa(pid)}, everything)
	patience.Until(t, "all its threads are read", func() bool {
		r.read("threads")
		got := len(r.rows("thread"))
		return got >= 4 && uint64(got) == entries(t, fmt.Sprintf("/proc/%d/task", pid))
	})
	for _, in := range r.frames["thread"].Block().Rows {
		if in.Label("process") != a.key() {
			t.Errorf("thread of another process: %+v", in)
		}
	}
	a.finish()
}

// look is the role of an ordinary user who reads the machine. It prints what it can read of
// the process that started it.
func look() {
	t := &printer{}
	defer t.finish()
	r := openReader(t, Options{}, everything)
	r.read("proc")
	key := ""
	for _, in := range r.frames["proc"].Block().Rows {
		if in.Label("pid") == strconv.Itoa(os.Getppid()) {
			key = in.Key
		}
	}
	for _, name := range []string{"proc.psinfo.utime", "proc.memory.rss", "proc.id.uid", "proc.io.read_bytes", "proc.fd.count", "proc.memory.footprint", "proc.psinfo.exe", "proc.psinfo.cwd"} {
		v := r.value("proc", key, name)
		fmt.Printf("%s %s\n", name, v.Miss)
	}
	fmt.Printf("proc.unseen %s\n", r.value("procs", "", "proc.unseen").Miss)
}

// printer lets a role use the test helpers.
type printer struct {
	testing.TB
	cleanups []func()
}

func (p *printer) Helper()                   {}
func (p *printer) Cleanup(f func())          { p.cleanups = append(p.cleanups, f) }
func (p *printer) Fatal(a ...any)            { fmt.Println(a...); os.Exit(1) }
func (p *printer) Fatalf(f string, a ...any) { fmt.Printf(f+"\n", a...); os.Exit(1) }
func (p *printer) Error(a ...any)            { fmt.Println(a...) }
func (p *printer) Errorf(f string, a ...any) { fmt.Printf(f+"\n", a...) }
func (p *printer) finish() {
	for _, f := range p.cleanups {
		f()
	}
}

func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else; the other tests run as an ordinary user here")
	}
	a := start(t, "look", func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	})
	got := make(map[string]string)
	for {
		l, err := a.out.ReadString('\n')
		if err != nil || l == "done\n" {
			break
		}
		name, why, _ := strings.Cut(strings.TrimSpace(l), " ")
		got[name] = why
	}
	a.finish()
	for name, want := range map[string]string{
		"proc.psinfo.utime": "present", "proc.memory.rss": "present", "proc.id.uid": "present",
		"proc.io.read_bytes": "permission denied", "proc.fd.count": "permission denied", "proc.memory.footprint": "permission denied",
		"proc.psinfo.exe": "permission denied", "proc.psinfo.cwd": "permission denied",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	// Since Linux 6.7 every user may listen to the process connector.
	if why := got["proc.unseen"]; why != "present" && why != needsNetAdmin.String() {
		t.Errorf("proc.unseen: %q", why)
	}
}

func TestSweepsDoNotAllocatePerProcess(t *testing.T) {
	f := newFakeTree(t)
	const n = 300
	for i := range n {
		f.put(fakeProcess{pid: 100 + i, ppid: 1, comm: "p", start: uint64(i), vsize: 1 << 30})
	}
	r := openReader(t, Options{Root: f.root}, byDefault)
	for range 3 {
		r.read("proc")
	}
	if got := testing.AllocsPerRun(10, func() { r.read("proc") }); got > 8 {
		t.Errorf("a sweep over %d processes allocates %v times", n, got)
	}
}
