package proc

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// lateJob returns the ends of two threads of a process: of the first, with 100 ms of user
// time, which the kernel counts as the last one, and of the other one, with 300 ms.
func lateJob(lived int64) (last, late procfs.Exit) {
	last = procfs.Exit{PID: 50, TGID: 50, Run: 100e6, UTime: 100e6, MinFlt: 4, Status: 7 << 8, LastOfGroup: true, Lived: lived, IO: procfs.IO{WriteBytes: 4096}}
	late = procfs.Exit{PID: 51, TGID: 50, Run: 300e6, UTime: 200e6, STime: 100e6, MinFlt: 3, Lived: lived + 2e6, IO: procfs.IO{WriteBytes: 8192}}
	return last, late
}

// The notice of a thread counts also if it arrives after that of the last thread.
func TestThreadsThatAreToldOfLate(t *testing.T) {
	want := map[string]string{"proc.psinfo.utime": "300", "proc.psinfo.stime": "100", "proc.psinfo.minflt": "7", "proc.io.write_bytes": "12288"}
	for _, c := range []struct {
		name  string
		split bool // the late notice arrives before the next sweep
	}{{"in one sweep", false}, {"in the next sweep", true}} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeTree(t)
			job := fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1, threads: 2, exe: "/bin/job"}
			f.put(job)
			r, w := hearing(t, f)
			r.read("proc")
			last, late := lateJob(13e9)
			w.tell(103e9, last)
			if c.split {
				job.flags = exiting // the first thread is on its way out
				f.put(job)
				r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 105e9, 105e9
				if e := findEvent(r.read("proc"), metric.EventProcessExit, "50/9000"); e != nil {
					t.Errorf("it is listed, and has ended: %+v", e)
				}
			}
			w.tell(103e9+3e6, late)
			f.remove(50)
			r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, r.now.Awake+5e9, r.now.Cont+5e9
			e := findEvent(r.read("proc"), metric.EventProcessExit, "50/9000")
			if e == nil || e.Label("how") != "exit 7" {
				t.Fatalf("exit event %+v", e)
			}
			for name, v := range want {
				if got := e.Label(name); got != v {
					t.Errorf("the event says %s %q, want %q", name, got, v)
				}
			}
			r.expect("proc", "50/9000", want)
			if n := len(r.kernel().dying); n != 0 {
				t.Errorf("%d processes are waited for whose last thread has ended", n)
			}
		})
	}
}

// A thread of the next process with the same pid does not count as one of the process
// before.
func TestLateThreadsAreNotTheNextOnes(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1, threads: 2, exe: "/bin/job"})
	r, w := hearing(t, f)
	r.read("proc")
	last, late := lateJob(10e9)
	late.Lived = 2e9
	w.tell(100e9, last)
	w.tell(103e9, late)
	f.remove(50)
	f.put(fakeProcess{pid: 50, comm: "next", start: 10100, threads: 2, exe: "/bin/next"})
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 105e9, 105e9
	if e := findEvent(r.read("proc"), metric.EventProcessExit, "50/9000"); e == nil || e.Label("proc.psinfo.utime") != "100" {
		t.Errorf("exit event %+v", e)
	}
}

// If a thread's notice was lost, the last row of a process is still not below what was read
// after the kernel had reported its end.
func TestLastTotalsAreNoLessThanWhatWasRead(t *testing.T) {
	f := newFakeTree(t)
	job := fakeProcess{pid: 50, comm: "job", start: 9000, utime: 3, stime: 6, threads: 2, exe: "/bin/job"}
	f.put(job)
	r, w := hearing(t, f)
	r.read("proc")
	w.tell(103e9, procfs.Exit{PID: 50, TGID: 50, Run: 107e6, UTime: 40e6, STime: 67e6, LastOfGroup: true, Lived: 13e9})
	job.utime, job.stime, job.flags = 4, 7, exiting
	f.put(job)
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 105e9, 105e9
	r.read("proc")
	r.expect("proc", "50/9000", map[string]string{"proc.psinfo.stime": "70"})
	f.remove(50)
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, 110e9, 110e9
	e := findEvent(r.read("proc"), metric.EventProcessExit, "50/9000")
	if e == nil || e.Label("proc.psinfo.stime") != "70" || e.Label("proc.psinfo.utime") != "40" {
		t.Errorf("exit event %+v", e)
	}
	r.expect("proc", "50/9000", map[string]string{"proc.psinfo.stime": "70", "proc.psinfo.utime": "40"})
}
