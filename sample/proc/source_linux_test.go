package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
)

func TestEveryColumn(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5, code: 9, exe: "/sbin/init"})
	f.put(fakeProcess{
		pid: 1234, ppid: 1, comm: "a (b) c", state: 'R', start: 700, utime: 12, stime: 34, minflt: 5, majflt: 6,
		uid: 501, rss: 100, vsize: 8 << 20, readBytes: 1 << 40, writeBytes: 1<<33 + 1, switches: 41,
		args: []string{"a", "--password=x"}, exe: "/usr/bin/a", code: 9,
	})
	f.write("proc/1234/fd/0", "")
	f.write("proc/1234/fd/17", "")
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(f.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("socket:[777]", "proc/1234/fd/3")
	link("socket:[778]", "proc/1234/fd/4")
	link("socket:[779]", "proc/1234/fd/5")
	link("/home/ana", "proc/1234/cwd")
	head := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	f.write("proc/1234/net/tcp", head+"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 x\n")
	f.write("proc/1234/net/udp", head+"   0: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 778 1 x\n")

	r := openReader(t, Options{Root: f.root, Args: cmdline.Redacted}, everything)
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	if ev := r.read("proc"); len(ev) != 0 {
		t.Errorf("the first sweep told of %d events: who was there before did not start just now", len(ev))
	}
	const key = "1234/700"
	r.expect("proc", key, map[string]string{
		"proc.psinfo.pid": "1234", "proc.psinfo.cmd": "a (b) c", "proc.psinfo.sname": "R", "proc.psinfo.ppid": "1",
		"proc.psinfo.pgrp": "1234", "proc.psinfo.pgid": "1234", "proc.psinfo.session": "1234", "proc.psinfo.tty": "0",
		"proc.psinfo.ttyname": "?", "proc.psinfo.tpgid": "4294967295", "proc.psinfo.tty_pgrp": "4294967295",
		"proc.psinfo.minflt": "5", "proc.psinfo.maj_flt": "6", "proc.psinfo.majflt": "6", "proc.psinfo.faults": "11",
		"proc.psinfo.utime": "120", "proc.psinfo.stime": "340", "proc.psinfo.cutime": "70", "proc.psinfo.cstime": "80",
		"proc.psinfo.priority": "20", "proc.psinfo.nice": "0", "proc.psinfo.threads": "1",
		"proc.psinfo.start_time": "7000", "proc.psinfo.start_wall": "1700000007000000",
		"proc.psinfo.unique": "700", "proc.psinfo.parent_unique": "5",
		"proc.psinfo.processor": "1", "proc.psinfo.policy": "0", "proc.psinfo.rt_priority": "0",
		"proc.psinfo.wchan": "1", "proc.psinfo.delayacct_blkio_time": "50",
		"proc.psinfo.exe": "/usr/bin/a", "proc.psinfo.psargs": "a --password=***", "proc.psinfo.cwd": "/home/ana",
		"proc.psinfo.wchan_s": "do_poll", "proc.psinfo.tgid": "1234",
		"proc.psinfo.vctxsw": "41", "proc.psinfo.nvctxsw": "1", "proc.psinfo.pswitch": "42",
		"proc.id.uid": "501", "proc.id.uid_nm": "ana", "proc.id.euid": "502", "proc.id.euid_nm": "502",
		"proc.id.suid": "501", "proc.id.gid": "20", "proc.id.gid_nm": "staff", "proc.id.egid_nm": "staff",
		"proc.memory.size": "8192", "proc.memory.rss": "60", "proc.memory.vmsize": "8192",
		"proc.memory.vmpeak": "900", "proc.memory.vmhwm": "70", "proc.memory.wired": "4", "proc.memory.anon": "10", "proc.memory.share": "50",
		"proc.io.read_bytes": "1099511627776", "proc.io.write_bytes": "8589934593", "proc.io.logical_writes": "2",
		"proc.io.rchar": "1", "proc.io.wchar": "2", "proc.io.syscr": "3", "proc.io.syscw": "4", "proc.io.cancelled_write_bytes": "5",
		"proc.schedstat.cpu_time": "1000", "proc.schedstat.run_delay": "2000", "proc.schedstat.pcount": "3", "proc.cpu.runnable_time": "3000",
		"proc.memory.footprint": "33", "proc.smaps.pss": "33", "proc.smaps.rss": "60", "proc.smaps.private_dirty": "9", "proc.smaps.swap": "2", "proc.smaps.swappss": "1",
		"proc.fd.count": "5", "proc.fd.limit": "1024", "proc.net.tcp_count": "1", "proc.net.udp_count": "1",
	})
	in := r.instance("proc", key)
	if in.Name != "001234 a (b) c" || in.Label("parent") != "1/5" || in.Label("uid") != "501" ||
		in.Label("exe") != "/usr/bin/a" || in.Label("pid") != "1234" || in.Label("start") != "2023-11-14T22:13:27Z" {
		t.Errorf("the instance is %+v", in)
	}
	for _, d := range r.frames["proc"].Block().Group.Metrics {
		if v := r.value("proc", key, d.Name); v.Miss == metric.NotRead {
			t.Errorf("%s was forgotten", d.Name)
		}
	}
	r.expect("procs", "", map[string]string{
		"proc.nprocs": "2", "proc.runq.runnable": "1", "proc.runq.sleeping": "1", "proc.runq.blocked": "0",
		"proc.runq.kernel": "1", // init has no address space in this tree
		"proc.exited":      "0", "proc.unseen_max": "0", "proc.unseen": "!" + needsNetAdmin.String(),
	})
	r.expect("proc.control", "", map[string]string{"proc.control.all.threads": "0", "proc.control.perclient.threads": "0"})
}

func TestReusedPidIsAnotherProcess(t *testing.T) {
	for _, how := range []string{"between two sweeps", "without a gap in the name of the files"} {
		t.Run(how, func(t *testing.T) {
			f := newFakeTree(t)
			f.put(fakeProcess{pid: 77, comm: "first", start: 100, utime: 5000})
			r := openReader(t, Options{Root: f.root}, everything)
			r.read("proc")
			r.read("proc")
			if how == "between two sweeps" {
				f.remove(77) // its open files remain in this tree after their names
			}
			f.put(fakeProcess{pid: 77, comm: "second", start: 900, utime: 1})
			ev := r.read("proc")
			if got := r.rows("proc"); !slices.Equal(got, []string{"77/900"}) {
				t.Fatalf("rows %q", got)
			}
			r.expect("proc", "77/900", map[string]string{"proc.psinfo.utime": "10", "proc.psinfo.cmd": "second"})
			if e := findEvent(ev, metric.EventProcessExit, "77/100"); e == nil || e.Label("name") != "first" || e.Label("last_seen") == "" {
				t.Errorf("no exit of the first: %v", ev)
			}
			if e := findEvent(ev, metric.EventProcessStart, "77/900"); e == nil || e.Label("name") != "second" {
				t.Errorf("no start of the second: %v", ev)
			}
			r.expect("procs", "", map[string]string{"proc.exited": "1"})
		})
	}
}

func TestBirthsAndDeaths(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	f.put(fakeProcess{pid: 20, ppid: 1, comm: "old", start: 100})
	r := openReader(t, Options{Root: f.root}, everything)
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 90e9, Cont: 100e9}
	r.read("proc")
	f.put(fakeProcess{pid: 21, ppid: 20, comm: "child", start: 10_200, exe: "/bin/child", threads: 3})
	f.remove(20)
	f.forks(1009) // the child, its two threads and six others
	r.now = metric.Stamp{Wall: 1_700_000_105e9, Awake: 95e9, Cont: 105e9}
	ev := r.read("proc")
	start := findEvent(ev, metric.EventProcessStart, "21/10200")
	if start == nil {
		t.Fatalf("events %v", ev)
	}
	if start.At != (metric.Stamp{Wall: 1_700_000_102e9, Awake: 92e9, Cont: 102e9}) {
		t.Errorf("the child started at %+v", start.At)
	}
	if start.Label("pid") != "21" || start.Label("exe") != "/bin/child" || start.Label("uid") != "0" {
		t.Errorf("start event %+v", start)
	}
	if start.Label("parent") != "" {
		t.Error("a parent that is gone was named by its pid alone")
	}
	if e := findEvent(ev, metric.EventProcessExit, "20/100"); e == nil || e.At != r.now {
		t.Errorf("exit event %+v", e)
	}
	r.expect("procs", "", map[string]string{"proc.unseen_max": "6", "proc.exited": "1", "proc.nprocs": "2"})
	if ev := r.read("proc"); len(ev) != 0 {
		t.Errorf("nothing happened, but %v", ev)
	}
	r.expect("procs", "", map[string]string{"proc.unseen_max": "6"})
}

func TestExecAndRename(t *testing.T) {
	f := newFakeTree(t)
	p := fakeProcess{pid: 30, comm: "sh", start: 100, exe: "/bin/sh", code: 0x1000, args: []string{"sh"}}
	f.put(p)
	r := openReader(t, Options{Root: f.root, Args: cmdline.Full}, everything)
	r.read("proc")
	rev := r.instance("proc", "30/100").Rev

	p.comm, p.exe, p.code, p.args = "sort", "/usr/bin/sort", 0x2000, []string{"sort", "-u"}
	f.put(p)
	ev := r.read("proc")
	e := findEvent(ev, metric.EventProcessExec, "30/100")
	if e == nil || e.Label("was") != "sh" || e.Label("name") != "sort" || e.Label("exe") != "/usr/bin/sort" {
		t.Fatalf("exec event %+v in %v", e, ev)
	}
	in := r.instance("proc", "30/100")
	if in.Name != "000030 sort" || in.Label("exe") != "/usr/bin/sort" || in.Rev <= rev {
		t.Errorf("after exec the instance is %+v", in)
	}
	r.expect("proc", "30/100", map[string]string{"proc.psinfo.psargs": "sort -u", "proc.psinfo.exe": "/usr/bin/sort"})

	rev = in.Rev
	p.comm = "sort: merging"
	f.put(p)
	if ev := r.read("proc"); len(ev) != 0 {
		t.Errorf("a new name alone is no event: %v", ev)
	}
	if in = r.instance("proc", "30/100"); in.Name != "000030 sort: merging" || in.Rev <= rev {
		t.Errorf("after the rename the instance is %+v", in)
	}

	p.code = 0x3000 // the same program again
	f.put(p)
	if e := findEvent(r.read("proc"), metric.EventProcessExec, "30/100"); e == nil {
		t.Error("an exec of the same program went unnoticed")
	}
}

func TestKernelWorkersKeepTheirName(t *testing.T) {
	f := newFakeTree(t)
	p := fakeProcess{pid: 9, comm: "kworker/0:1-events", start: 3, flags: kernelThread}
	f.put(p)
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("proc")
	in := r.instance("proc", "9/3")
	rev := in.Rev
	p.comm = "kworker/0:1+mm_percpu_wq"
	f.put(p)
	f.put(fakeProcess{pid: 10, comm: "kworker/R-netns", start: 3, flags: kernelThread})
	r.read("proc")
	if name := r.instance("proc", "10/3").Name; name != "000010 kworker/R-netns" {
		t.Errorf("the rescuer is called %q", name)
	}
	if in.Name != "000009 kworker/0:1" || in.Rev != rev {
		t.Errorf("instance %+v, revision was %d", in, rev)
	}
	r.expect("proc", "9/3", map[string]string{
		"proc.memory.footprint": "!" + noAddressSpace.String(), "proc.psinfo.exe": "!" + noAddressSpace.String(),
	})
}

func TestZombieTellsItsStatusOnce(t *testing.T) {
	f := newFakeTree(t)
	p := fakeProcess{pid: 40, comm: "job", start: 100, code: 0x1000, utime: 10}
	f.put(p)
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("proc")
	p.state, p.exitCode, p.utime, p.code = 'Z', 3<<8, 25, 0
	f.put(p)
	e := findEvent(r.read("proc"), metric.EventProcessExit, "40/100")
	if e == nil || e.Label("how") != "exit 3" || e.Label("status") != "768" {
		t.Fatalf("exit event %+v", e)
	}
	r.expect("proc", "40/100", map[string]string{"proc.psinfo.utime": "250", "proc.psinfo.sname": "Z"})
	r.expect("procs", "", map[string]string{"proc.runq.defunct": "1"})
	if ev := r.read("proc"); len(ev) != 0 {
		t.Errorf("told again: %v", ev)
	}
	f.remove(40)
	if ev := r.read("proc"); len(ev) != 0 {
		t.Errorf("told again: %v", ev)
	}
	r.expect("procs", "", map[string]string{"proc.exited": "1"})
}

func TestUnreadableFilesAreMissingWithTheirReason(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "halfway", start: 100})
	for _, name := range []string{"io", "status", "schedstat", "smaps_rollup"} {
		if err := os.Remove(filepath.Join(f.root, "proc/50", name)); err != nil {
			t.Fatal(err)
		}
	}
	f.put(fakeProcess{pid: 51, comm: "whole", start: 100})
	r := openReader(t, Options{Root: f.root}, everything)
	for range 2 {
		r.read("proc")
		r.expect("proc", "50/100", map[string]string{
			"proc.psinfo.utime": "0", "proc.io.read_bytes": "!vanished", "proc.id.uid": "!vanished",
			"proc.memory.footprint": "!vanished", "proc.psinfo.psargs": "!" + argsOff.String(),
		})
		r.expect("proc", "51/100", map[string]string{"proc.io.read_bytes": "0", "proc.id.uid": "0"})
	}
}

func TestGarbageIsNoProcess(t *testing.T) {
	f := newFakeTree(t)
	f.write("proc/60/stat", "not a stat file")
	f.write("proc/61/stat", "")
	f.write("proc/self/stat", "1 (x) S")
	f.put(fakeProcess{pid: 62, comm: "good", start: 1})
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("proc")
	if got := r.rows("proc"); !slices.Equal(got, []string{"62/1"}) {
		t.Errorf("rows %q", got)
	}
}

func TestThreadsOfSelectedProcesses(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 70, comm: "server", start: 100})
	f.put(fakeProcess{pid: 80, comm: "burner", start: 100, utime: 100})
	f.put(fakeProcess{pid: 90, comm: "idle", start: 100, utime: 1})
	for _, th := range []struct {
		pid, tid int
		p        fakeProcess
	}{
		{70, 70, fakeProcess{comm: "server", start: 100, utime: 1}},
		{70, 71, fakeProcess{comm: "worker one", start: 101, utime: 7, stime: 2, state: 'R'}},
		{80, 80, fakeProcess{comm: "burner", start: 100}},
		{90, 90, fakeProcess{comm: "idle", start: 100}},
	} {
		f.write(fmt.Sprintf("proc/%d/task/%d/stat", th.pid, th.tid), th.p.stat(th.tid))
	}
	r := openReader(t, Options{Root: f.root, ThreadPattern: "serv*", ThreadTopN: 1}, everything)
	r.read("threads")
	if got := r.rows("thread"); !slices.Equal(sorted(got), []string{"70/100/70/100", "70/100/71/101", "80/100/80/100"}) {
		t.Fatalf("threads %q", got)
	}
	r.expect("thread", "70/100/71/101", map[string]string{
		"thread.pid": "70", "thread.tid": "71", "thread.name": "worker one", "thread.sname": "R", "thread.utime": "70", "thread.stime": "20", "thread.priority": "20",
	})
	in := r.instance("thread", "70/100/71/101")
	if in.Name != "000070/000071 worker one" || in.Label("process") != "70/100" {
		t.Errorf("instance %+v", in)
	}
	// The tid is used again in the same process, and another thread gets busy.
	f.write("proc/70/task/71/stat", fakeProcess{comm: "worker two", start: 300}.stat(71))
	f.put(fakeProcess{pid: 90, comm: "idle", start: 100, utime: 50})
	r.read("threads")
	if got := r.rows("thread"); !slices.Equal(sorted(got), []string{"70/100/70/100", "70/100/71/300", "90/100/90/100"}) {
		t.Errorf("threads %q", got)
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func TestOptionsChangeBetweenReadings(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 70, comm: "server", start: 100, args: []string{"server", "--token=x"}})
	f.write("proc/70/task/70/stat", fakeProcess{comm: "server", start: 100}.stat(70))
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("proc")
	r.read("threads")
	r.expect("proc", "70/100", map[string]string{"proc.psinfo.psargs": "!" + argsOff.String()})
	for _, s := range r.sources {
		set := s.(interface{ SetOptions(Options) error }).SetOptions
		if err := set(Options{Args: cmdline.Redacted, ThreadPattern: "server"}); err != nil {
			t.Fatal(err)
		}
		if set(Options{ThreadPattern: "["}) == nil {
			t.Errorf("%s took a broken pattern", s.Name())
		}
	}
	r.read("proc")
	r.read("threads")
	r.expect("proc", "70/100", map[string]string{"proc.psinfo.psargs": "server --token=***"})
	if got := r.rows("thread"); !slices.Equal(got, []string{"70/100/70/100"}) {
		t.Errorf("threads %q", got)
	}
	for _, s := range r.sources {
		if err := s.(interface{ SetOptions(Options) error }).SetOptions(Options{}); err != nil {
			t.Fatal(err)
		}
	}
	r.read("proc")
	r.expect("proc", "70/100", map[string]string{"proc.psinfo.psargs": "!" + argsOff.String()})
}

func TestNoThreadsByDefault(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 70, comm: "server", start: 100})
	f.write("proc/70/task/70/stat", fakeProcess{comm: "server", start: 100}.stat(70))
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("threads")
	if got := r.rows("thread"); len(got) != 0 {
		t.Errorf("threads %q", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{ThreadPattern: "a[", Root: t.TempDir()}, {ThreadTopN: -1, Root: t.TempDir()}, {Root: "/no/such/root"}} {
		t.Run(fmt.Sprintf("%q %d %q", o.ThreadPattern, o.ThreadTopN, filepath.Base(o.Root)), func(t *testing.T) {
			if _, err := Sources(o); err == nil {
				t.Errorf("%+v was accepted", o)
			}
		})
	}
}

func TestEveryRowOfLinuxIsRead(t *testing.T) {
	r := openReader(t, Options{Root: newFakeTree(t).root}, everything)
	checkComplete(t, catalog.Linux, r.sources)
}
