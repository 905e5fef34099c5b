package proc

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// In a storm of forks a pid is soon used again: the end of a process that had it for a few
// milliseconds arrives when another one has just begun with the same pid.
func TestNumbersThatComeRound(t *testing.T) {
	before := procfs.Exit{PID: 50, TGID: 50, Run: 5e6, UTime: 5e6, Status: 3 << 8, LastOfGroup: true, Lived: 100e6}
	own := procfs.Exit{PID: 50, TGID: 50, Run: 9380e6, UTime: 9380e6, LastOfGroup: true, Lived: 3e9}
	const key = "50/10200"
	for _, c := range []struct {
		name  string
		known bool // the new process is met before the old one's end arrives
		gone  bool // the new process has ended by then, too
	}{
		{"met in the sweep that hears of it", false, false},
		{"known and alive", true, false},
		{"known and ended", true, true},
		{"met and ended", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeTree(t)
			f.put(fakeProcess{pid: 7, comm: "other", start: 1})
			r, w := hearing(t, f)
			sweep := func(seconds int64) []metric.Event {
				pass := seconds*1e9 - r.now.Cont
				r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+pass, r.now.Awake+pass, r.now.Cont+pass
				return r.read("proc")
			}
			sweep(101)
			f.put(fakeProcess{pid: 50, comm: "lasting", start: 10200, utime: 100, exe: "/bin/lasting"})
			if c.known {
				sweep(103)
			}
			if c.gone {
				f.remove(50)
			}
			w.tell(102_100e6, before)
			if c.gone {
				w.tell(105_050e6, own)
			}
			got := sweep(106)
			if !c.gone {
				if e := findEvent(got, metric.EventProcessExit, key); e != nil {
					t.Fatalf("a living process has ended: %+v", e)
				}
				f.remove(50)
				w.tell(105_050e6, own)
				got = sweep(107)
			}
			e := findEvent(got, metric.EventProcessExit, key)
			if c.gone && !c.known {
				if found := r.rows("proc"); len(found) != 3 {
					t.Errorf("rows %q of two that nobody has met and another", found)
				}
				return
			}
			if e == nil || e.Label("how") != "exit 0" || e.Label("proc.psinfo.utime") != "9380" {
				t.Errorf("exit event %+v", e)
			}
		})
	}
}
