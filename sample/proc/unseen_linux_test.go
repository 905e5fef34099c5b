package proc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

func (r *reader) pass(seconds int64) {
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+seconds*1e9, r.now.Awake+seconds*1e9, r.now.Cont+seconds*1e9
}

func comm(name string) (c [16]byte) {
	copy(c[:], name)
	return c
}

func TestWhatNoSweepHasMetHasItsRow(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	r, w := hearing(t, f)
	r.read("proc")
	r.pass(5)
	w.tell(103e9, procfs.Exit{PID: 300, TGID: 300, PPID: 1, UID: 501, GID: 20, Comm: comm("worker"), Status: 3 << 8,
		LastOfGroup: true, Lived: 2e9, Run: 40e6, UTime: 30e6, STime: 10e6, PeakRSS: 77, IO: procfs.IO{WriteBytes: 4096}})
	ev := r.read("proc")
	e := findEvent(ev, metric.EventProcessExit, "300/10100")
	if e == nil || e.At.Cont != 103e9 || e.Text != "000300 worker ended: exit 3" {
		t.Fatalf("events %+v", ev)
	}
	for name, want := range map[string]string{"pid": "300", "name": "worker", "status": "768", "how": "exit 3", "parent": "1/5", "uid": "501", "unseen": "1", "start": "2023-11-14T22:15:01Z"} {
		if got := e.Label(name); got != want {
			t.Errorf("the event's label %s is %q, want %q", name, got, want)
		}
	}
	r.expect("proc", "300/10100", map[string]string{
		"proc.psinfo.pid": "300", "proc.psinfo.ppid": "1", "proc.psinfo.cmd": "worker", "proc.id.uid": "501", "proc.id.uid_nm": "ana",
		"proc.id.gid_nm": "staff", "proc.psinfo.utime": "30", "proc.psinfo.stime": "10", "proc.io.write_bytes": "4096",
		"proc.memory.vmhwm": "77", "proc.memory.rss": "!vanished", "proc.psinfo.sname": "!vanished", "proc.id.euid": "!vanished",
		"proc.psinfo.start_time": "101000",
	})
	if got := r.instance("proc", "300/10100"); got.Name != "000300 worker" || got.Label("parent") != "1/5" {
		t.Errorf("the instance is %+v", got)
	}
	r.expect("procs", "", map[string]string{"proc.unseen": "1", "proc.unrecorded": "0", "proc.started": "1"})
	if ev := r.read("proc"); len(ev) != 0 || len(r.rows("proc")) != 1 {
		t.Errorf("afterwards there are %v and %q", ev, r.rows("proc"))
	}
}

func TestForkStormIsCountedByName(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	r, w := hearing(t, f)
	r.read("proc")
	const storm = 5000
	var ev []metric.Event
	rows := 0
	for i := range 15 {
		r.pass(5)
		for n := 0; i == 0 && n < storm; n++ {
			name := "sh"
			if n%10 == 0 {
				name = fmt.Sprintf("t%d", n%1000)
			}
			w.tell(r.now.Cont-1e9, procfs.Exit{PID: uint32(1000 + n), TGID: uint32(1000 + n), PPID: 1, Comm: comm(name), LastOfGroup: true, Lived: 1e6, Status: uint32(n%2) << 8})
		}
		ev = append(ev, slices.Clone(r.read("proc"))...)
		rows += len(r.rows("proc")) - 1
	}
	if rows != unseenBurst {
		t.Errorf("%d rows, want %d", rows, unseenBurst)
	}
	r.expect("procs", "", map[string]string{"proc.unseen": "5000", "proc.unrecorded": fmt.Sprint(storm - unseenBurst)})
	var told, exits int
	for _, e := range ev {
		switch e.Kind {
		case metric.EventProcessExit:
			exits++
		case metric.EventProcessExits:
			var n int
			fmt.Sscan(e.Label("count"), &n)
			told += n
		}
	}
	if exits != unseenBurst || told != storm-unseenBurst {
		t.Errorf("%d events of one exit, and %d exits told together", exits, told)
	}
	if i := slices.IndexFunc(ev, func(e metric.Event) bool { return e.Kind == metric.EventProcessExits }); i < 0 ||
		!strings.HasPrefix(ev[i].Text, "2340 more short-lived processes called sh ended") || ev[i].Label("failed") != "1300" {
		t.Errorf("the first is %+v", ev[max(i, 0)])
	}
	// The allowance grows again.
	w.tell(r.now.Cont-1e9, procfs.Exit{PID: 9, TGID: 9, Comm: comm("late"), LastOfGroup: true, Lived: 1e6})
	if ev := r.read("proc"); len(ev) != 1 {
		t.Errorf("events %v", ev)
	}
}

// The costly sweep may be the first to meet the zombie. The last totals then still belong in
// the rows of the other class.
func TestFinalTotalsWhoeverMeetsTheZombie(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1, exe: "/bin/job"})
	r, w := hearing(t, f)
	costly := openFrames(r, func(d *metric.Desc) bool { return d.Class == metric.Costly })
	usual := openFrames(r, func(d *metric.Desc) bool { return d.Class == metric.Process })
	r.frames = usual
	r.read("proc")
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 2, state: 'Z', exe: "/bin/job"})
	w.tell(103e9, procfs.Exit{PID: 50, TGID: 50, Run: 300e6, UTime: 200e6, STime: 100e6, Status: 7 << 8, LastOfGroup: true, Lived: 13e9})
	r.pass(4)
	r.frames = costly
	if e := findEvent(r.read("proc"), metric.EventProcessExit, "50/9000"); e == nil {
		t.Fatal("no event")
	}
	f.remove(50)
	r.pass(1)
	r.frames = usual
	r.read("proc")
	r.expect("proc", "50/9000", map[string]string{"proc.psinfo.utime": "200", "proc.psinfo.stime": "100", "proc.memory.rss": "!vanished"})
	r.read("proc")
	if got := r.rows("proc"); len(got) != 0 {
		t.Errorf("rows %q", got)
	}
}

func TestZombieRowHoldsTheLastTotals(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1})
	r, w := hearing(t, f)
	r.read("proc")
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 2, state: 'Z'})
	w.tell(103e9, procfs.Exit{PID: 50, TGID: 50, Run: 300e6, UTime: 200e6, STime: 100e6, LastOfGroup: true, Lived: 13e9})
	r.pass(5)
	r.read("proc")
	r.expect("proc", "50/9000", map[string]string{"proc.psinfo.utime": "200", "proc.psinfo.sname": "Z"})
	f.remove(50)
	r.read("proc")
	if got := r.rows("proc"); len(got) != 0 {
		t.Errorf("the zombie's row was the last, but there is %q", got)
	}
}

// openFrames makes frames for the sources of r.
func openFrames(r *reader, want func(*metric.Desc) bool) map[string]*sample.Frame {
	frames := make(map[string]*sample.Frame)
	for _, s := range r.sources {
		for _, g := range s.Groups() {
			if f := sample.NewFrame(g, want); f != nil {
				frames[g.Name] = f
			}
		}
	}
	return frames
}
