package proc

import (
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// hearing opens a reader on an invented tree. Its watcher receives what the test sends.
func hearing(t *testing.T, f *fakeTree) (*reader, *watcher) {
	r := openReader(t, Options{Root: f.root}, everything)
	k := r.kernel()
	w := &watcher{fd: -1}
	k.watch = w
	k.forgetLoss()
	t.Cleanup(func() { k.watch = nil })
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	return r, w
}

func (w *watcher) tell(at int64, exits ...procfs.Exit) {
	for _, e := range exits {
		w.heard, w.at = append(w.heard, e), append(w.at, at)
	}
}

// The kernel divides CPU time by the ticks at which it looked, so user and system time at
// the end may differ from those of the last reading. Their sum must not grow by that.
func TestTheSplitMayShift(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name              string
		utime, stime      uint64 // at the end, in ms
		lastU, lastS      uint64 // at the last reading, in ticks of 10 ms
		wantUser, wantSys uint64
	}{
		{"nothing was read before", 200, 100, 0, 0, 200, 100},
		{"both grew", 200, 100, 10, 10, 200, 100},
		{"user time fell", 260, 40, 30, 0, 300, 0},
		{"system time fell", 300, 4, 25, 3, 274, 30},
		{"threads ended unheard", 50, 10, 30, 5, 300, 50},
	} {
		totals := exitTotals{utime: c.utime * ms, stime: c.stime * ms}
		totals.notBefore(&procfs.StatNumbers{UTime: c.lastU, STime: c.lastS})
		if totals.utime != c.wantUser*ms || totals.stime != c.wantSys*ms {
			t.Errorf("%s: %d and %d ms, want %d and %d", c.name, totals.utime/ms, totals.stime/ms, c.wantUser, c.wantSys)
		}
	}
}

func TestFinalTotalsOfAllThreads(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1, threads: 2, exe: "/bin/job"})
	r, w := hearing(t, f)
	r.read("proc")
	f.remove(50)
	w.tell(103e9,
		procfs.Exit{PID: 51, TGID: 50, Run: 300e6, UTime: 200e6, STime: 100e6, MinFlt: 3, Status: 0, IO: procfs.IO{ReadBytes: 1 << 33}, Lived: 13e9},
		procfs.Exit{PID: 50, TGID: 50, Run: 100e6, UTime: 100e6, STime: 0, MinFlt: 4, Status: 7 << 8, LastOfGroup: true, Lived: 13e9, PeakRSS: 99})
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 105e9, 105e9
	e := findEvent(r.read("proc"), metric.EventProcessExit, "50/9000")
	if e == nil || e.At.Cont != 103e9 || e.Label("how") != "exit 7" || e.Label("last_seen") != "" {
		t.Fatalf("exit event %+v", e)
	}
	want := map[string]string{
		"proc.psinfo.utime": "300", "proc.psinfo.stime": "100", "proc.psinfo.minflt": "7",
		"proc.io.read_bytes": "8589934592", "proc.memory.vmhwm": "99",
	}
	for name, v := range want {
		if got := e.Label(name); got != v {
			t.Errorf("the event says %s %q, want %q", name, got, v)
		}
	}
	for name, v := range map[string]string{
		"proc.memory.rss": "!vanished", "proc.psinfo.sname": "!vanished", "proc.psinfo.threads": "!vanished",
		"proc.id.uid_nm": "root", "proc.psinfo.cmd": "job", "proc.psinfo.pid": "50", "proc.psinfo.exe": "/bin/job", "proc.psinfo.ppid": "0",
	} {
		want[name] = v
	}
	r.expect("proc", "50/9000", want)
	if ev := r.read("proc"); len(ev) != 0 || len(r.rows("proc")) != 0 {
		t.Errorf("afterwards there are %v and %q", ev, r.rows("proc"))
	}
}

func TestWhoseExitItWas(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "old", start: 2000})
	f.put(fakeProcess{pid: 60, comm: "stays", start: 2000})
	r, w := hearing(t, f)
	r.read("proc")
	f.remove(50)
	w.tell(102e9,
		procfs.Exit{PID: 50, TGID: 50, LastOfGroup: true, Status: 1 << 8, Lived: 82e9},
		procfs.Exit{PID: 50, TGID: 50, LastOfGroup: true, Status: 2 << 8, Lived: 1e6}, // a later process with the same pid
		procfs.Exit{PID: 60, TGID: 60, LastOfGroup: true, Status: 3 << 8, Lived: 2e9}, // too young to be the one that lives
		procfs.Exit{PID: 70, TGID: 70, LastOfGroup: true, Lived: 1e6},
		procfs.Exit{PID: 81, TGID: 80, Lived: 1e6}) // a thread of a process that lives
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 105e9, 105e9
	ev := r.read("proc")
	if e := findEvent(ev, metric.EventProcessExit, "50/2000"); e == nil || e.Label("how") != "exit 1" {
		t.Errorf("exit event %+v", e)
	}
	if e := findEvent(ev, metric.EventProcessExit, "60/2000"); e != nil {
		t.Errorf("the living was buried: %+v", e)
	}
	r.expect("procs", "", map[string]string{"proc.unseen": "3", "proc.unseen_max": "3", "proc.started": "3", "proc.exited": "1"})
	// Each process has a row, also those that no sweep has met.
	if got := r.rows("proc"); !slices.Equal(sorted(got), []string{"50/10199", "50/2000", "60/10000", "60/2000", "70/10199"}) {
		t.Errorf("rows %q", got)
	}
}

func TestLostNoticesAreNotHidden(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "job", start: 2000})
	r, w := hearing(t, f)
	r.read("proc")
	r.expect("procs", "", map[string]string{"proc.unseen": "0", "proc.started": "0"})
	w.lost = true
	f.forks(1005)
	for range 2 {
		r.read("proc")
		r.expect("procs", "", map[string]string{"proc.unseen": "!" + exitsLost.String(), "proc.unseen_max": "5", "proc.started": "!" + exitsLost.String()})
	}
	if err := r.sources[0].Refresh(); err != nil {
		t.Fatal(err)
	}
	r.read("proc")
	r.expect("procs", "", map[string]string{"proc.unseen": "0"})
}

// If a client only wants the living, processes that ended have no rows, and nothing is kept
// of them.
func TestOnlyTheLiving(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1, exe: "/bin/job"})
	f.put(fakeProcess{pid: 60, comm: "stays", start: 9000, utime: 1, exe: "/bin/stays"})
	r, w := hearing(t, f)
	r.living = true
	r.read("proc")
	f.remove(50)
	w.tell(103e9,
		procfs.Exit{PID: 50, TGID: 50, Run: 100e6, UTime: 100e6, LastOfGroup: true, Lived: 13e9},
		procfs.Exit{PID: 55, TGID: 55, Run: 100e6, UTime: 100e6, LastOfGroup: true, Lived: 1e9})
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 105e9, 105e9
	r.read("proc")
	if rows := r.rows("proc"); !slices.Equal(rows, []string{"60/9000"}) {
		t.Errorf("rows: %q", rows)
	}
	if n := len(r.kernel().finals); n != 0 {
		t.Errorf("%d of those who have ended are kept", n)
	}
}
