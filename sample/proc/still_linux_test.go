package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
	"tachograph/testdata/patience"
)

func kernelOf(r *reader) *linuxKernel {
	return r.sources[0].(*processes[linuxProcess, reading]).k.(*linuxKernel)
}

func clockOf(pid int) int64 {
	ran, _ := ranFor(int32(pid))
	return ran
}

// openStill returns a reader with a clock of the test's own. It skips the test if the kernel
// does not show which processes have not run.
func openStill(t *testing.T) *reader {
	r := openReader(t, Options{}, byDefault)
	if !kernelOf(r).stillness.clocks {
		t.Skip("the clocks of processes cannot be used here")
	}
	r.now = r.clock()
	return r
}

// awaitSleep returns when a process sleeps and no longer uses its processor. On a busy
// machine a process that waits for a processor does not use it either.
func awaitSleep(t *testing.T, pid int) {
	t.Helper()
	before, same := int64(0), 0
	patience.Until(t, fmt.Sprintf("process %d sleeps", pid), func() bool {
		if now, _ := ranFor(int32(pid)); now == before && sleeps(t, pid) {
			same++
		} else {
			before, same = now, 0
		}
		return same == 20
	})
}

// sleeps reports whether no thread of a process runs or waits for a processor.
func sleeps(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d has no threads: %v", pid, err)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		var s procfs.Stat
		if err == nil && (s.Parse(text) != nil || s.State != 'S') {
			return false
		}
	}
	return true
}

// TestStillAsReadAnew compares the rows of sleeping processes, whose files are not read
// again, with those of a new reader.
func TestStillAsReadAnew(t *testing.T) {
	r := openStill(t)
	var pids []int
	for _, role := range []string{"wait", "burn", "threads", "allocate", "write " + t.TempDir() + "/f"} {
		a := start(t, role, nil)
		a.await("done")
		t.Cleanup(a.finish)
		pids = append(pids, a.cmd.Process.Pid)
	}
	for _, pid := range pids {
		awaitSleep(t, pid)
	}
	r.read("proc")
	r.read("proc")
	fresh := openReader(t, Options{}, byDefault)
	fresh.read("proc")
	compared := 0
	for _, pid := range pids {
		key := keyOf(t, pid)
		if p := kernelOf(r).table.lookup(int32(pid)); p.platform.readAt == 0 || clockOf(pid) != p.platform.ran {
			continue // Go's runtime has woken it up
		}
		for _, d := range r.frames["proc"].Block().Group.Metrics {
			switch d.Name {
			case "proc.psinfo.start_wall", "proc.io.inherited_read_bytes", "proc.io.inherited_write_bytes":
				continue // depends on the test's clock, or on the time since a reader began
			}
			if got, want := r.value("proc", key, d.Name), fresh.value("proc", key, d.Name); got.String() != want.String() || got.Miss != want.Miss {
				t.Errorf("%d: %s = %s, read anew %s", pid, d.Name, got, want)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("nobody slept")
	}
}

// shell starts a shell that sleeps, and returns its pid and a function that has it do something and
// sleep again.
func shell(t *testing.T) (pid int, do func(what string)) {
	t.Helper()
	sh := exec.Command("/bin/sh")
	in, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); sh.Wait() })
	return sh.Process.Pid, func(what string) {
		t.Helper()
		if _, err := in.Write([]byte(what + "; echo\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		awaitSleep(t, sh.Process.Pid)
	}
}

// TestStillUntilItRuns lets a process change itself.
func TestStillUntilItRuns(t *testing.T) {
	r := openStill(t)
	pid, do := shell(t)
	do(":")
	r.read("proc")
	key := keyOf(t, pid)
	calls, cpu := number64(t, r, key, "proc.io.syscr"), number64(t, r, key, "proc.schedstat.cpu_time")
	do("read x </proc/uptime; umask 022")
	r.read("proc")
	if number64(t, r, key, "proc.io.syscr") <= calls || number64(t, r, key, "proc.schedstat.cpu_time") <= cpu {
		t.Error("what it has read does not show")
	}
}

// TestStillButChanged changes a sleeping process from outside.
func TestStillButChanged(t *testing.T) {
	r := openStill(t)
	parent := start(t, "wait", nil)
	parent.await("done")
	// A child whose parent ends before it.
	sh := exec.Command("/bin/sh", "-c", "sleep 1000 >/dev/null & echo $!; read x")
	in, _ := sh.StdinPipe()
	out, _ := sh.StdoutPipe()
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 16)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(string(text[:n-1]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(orphan, syscall.SIGKILL) })
	pid := parent.cmd.Process.Pid
	awaitSleep(t, pid)
	awaitSleep(t, orphan)
	r.read("proc")
	key, orphanKey := keyOf(t, pid), keyOf(t, orphan)
	if got := number64(t, r, orphanKey, "proc.psinfo.ppid"); got != uint64(sh.Process.Pid) {
		t.Fatalf("the parent is %d", got)
	}
	in.Close()
	sh.Wait()
	r.read("proc")
	if got := number64(t, r, orphanKey, "proc.psinfo.ppid"); got == uint64(sh.Process.Pid) {
		t.Error("the parent that has ended is still said to be its parent")
	}
	// Any process may lower its priority. One that has done so already does not change.
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, 19); err != nil {
		t.Fatal(err)
	}
	r.now.Cont += int64(longestStill)
	r.read("proc")
	if got := number64(t, r, key, "proc.psinfo.nice"); got != 19 {
		t.Errorf("nice %d after %s", got, longestStill)
	}
	// The kernel takes memory away while it reclaims pages.
	q := &kernelOf(r).table.lookup(int32(pid)).platform
	q.stat.RSS, q.did.rss, q.status.VmRSS = 1, 1, 4
	kernelOf(r).stillness.reclaimed--
	r.read("proc")
	if got := number64(t, r, key, "proc.memory.rss"); got <= 4 {
		t.Errorf("rss %d KiB is not what the kernel says", got)
	}
	parent.finish()
}

// TestForeignNumbers reads a directory whose pids belong to other processes.
func TestForeignNumbers(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: os.Getpid(), comm: "p", start: 1})
	if kernelOf(openReader(t, Options{Root: f.root}, everything)).stillness.clocks {
		t.Error("our clocks are used for others' processes")
	}
	_, own := ranFor(int32(os.Getpid()))
	_, nobody := ranFor(1<<22 + 1)
	if !own || nobody {
		t.Error("a process that is has no clock, or one that is not has one")
	}
}

// TestListingIsFollowed starts and ends processes while the directory is not listed again.
func TestListingIsFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root sees everybody")
	}
	r := openStill(t)
	k := kernelOf(r)
	old := start(t, "wait", nil)
	old.await("done")
	for range 3 {
		r.read("proc")
	}
	var young []*actor
	for range 5 {
		a := start(t, "wait", nil)
		a.await("done")
		young = append(young, a)
	}
	oldKey := old.key()
	old.finish()
	was := k.stillness.listed
	// follow reads, and fails the test if the directory was listed. One good reason cannot
	// be excluded here: the pids began anew.
	follow := func() []metric.Event {
		t.Helper()
		k.complete = true // other processes come and go beside this test
		for i := range int32(1 << 15) {
			k.listing = append(k.listing, 1<<22+1+i) // pids of no process: this many missing ones must be tolerated
		}
		from := k.stillness.given[0]
		ev := r.read("proc")
		if to := k.stillness.given[1]; k.stillness.listed != was && to >= from {
			t.Fatalf("the directory was listed: numbers from %d to %d were given", from, to)
		}
		return ev
	}
	ev := follow()
	for _, a := range young {
		if e := findEvent(ev, metric.EventProcessStart, a.key()); e == nil || !slices.Contains(r.rows("proc"), a.key()) {
			t.Errorf("%s was not found", a.key())
		}
		a.finish()
	}
	if findEvent(ev, metric.EventProcessExit, oldKey) == nil {
		t.Errorf("that %s has ended was not told", oldKey)
	}
	if ev = follow(); len(ev) < len(young) {
		t.Errorf("%d events", len(ev))
	}
	r.now.Cont += int64(relistAfter)
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
	r.read("proc")
	if k.stillness.listed == was || !slices.IsSorted(k.listing) {
		t.Error("the directory was not listed")
	}
}

// TestRowsOfTheStillAreRepeated writes another number into what the source has read of a sleeping
// process. The number must appear only if the source fills the row again.
func TestRowsOfTheStillAreRepeated(t *testing.T) {
	r := openStill(t)
	sleeper := exec.Command("/bin/sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	pid := sleeper.Process.Pid
	awaitSleep(t, pid)
	r.read("proc")
	key, k := keyOf(t, pid), kernelOf(r)
	// All processes are read while memory is reclaimed or too many threads want to run.
	patience.Until(t, "a row is repeated", func() bool {
		r.read("proc")
		q := &k.table.lookup(int32(pid)).platform
		was := q.status.VmPeak
		q.status.VmPeak = 1 << 30
		if r.read("proc"); q.changed == k.table.sweeps {
			return false
		}
		if got := number64(t, r, key, "proc.memory.vmpeak"); got != was {
			t.Fatalf("vmpeak is %d, and was %d", got, was)
		}
		k.changed = k.table.sweeps + 1
		if r.read("proc"); q.changed == k.table.sweeps {
			return false
		}
		if got := number64(t, r, key, "proc.memory.vmpeak"); got != 1<<30 {
			t.Fatalf("its row was not filled anew: vmpeak is %d", got)
		}
		return true
	})
}

// TestExpensiveFilesOfTheStill marks what was read last of a sleeping process, and sees when it
// is read again: once it has run, once memory was reclaimed, and after longestAlone.
func TestExpensiveFilesOfTheStill(t *testing.T) {
	r := openReader(t, Options{}, everything)
	k := kernelOf(r)
	if !k.stillness.clocks {
		t.Skip("the clocks of processes cannot be used here")
	}
	r.now = r.clock()
	pid, do := shell(t)
	do(":")
	r.read("proc")
	key := keyOf(t, pid)
	q := &k.table.lookup(int32(pid)).platform
	if q.footprint == nil {
		t.Skip("this kernel has no smaps_rollup")
	}
	mark := func() { q.footprint.PSS, q.opened.count, q.cwd, q.wchan = 1<<30, 1<<30, "marked", "marked" }
	expect := func(what string, marked bool) {
		t.Helper()
		reclaimed := k.stillness.reclaimed
		if r.read("proc"); k.stillness.reclaimed != reclaimed {
			marked = false
		}
		for _, name := range []string{"proc.smaps.pss", "proc.fd.count", "proc.psinfo.cwd", "proc.psinfo.wchan_s"} {
			text := r.value("proc", key, name).String()
			if got := text == strconv.Itoa(1<<30) || text == "marked"; got != marked {
				t.Errorf("%s: %s is %s", what, name, text)
			}
		}
	}
	mark()
	expect("nothing happened", true)
	do("cd /")
	expect("it ran", false)
	mark()
	q.footprint.at.reclaimed--
	q.opened.read.reclaimed--
	q.cwdAt.reclaimed--
	q.wchanAt.reclaimed--
	expect("memory was reclaimed", false)
	mark()
	r.now.Cont += int64(longestAlone)
	expect("time passed", false)
}
