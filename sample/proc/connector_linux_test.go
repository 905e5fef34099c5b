package proc

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
	"tachograph/testdata/patience"
)

// The messages of this kernel's process connector about a command.
func TestConnectorLive(t *testing.T) {
	w, err := listenToConnector()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EPROTONOSUPPORT) {
		t.Skip("the kernel does not allow it: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.waiter.Start(w.run)
	t.Cleanup(w.stop)
	before := bootClock()
	cmd := exec.Command("/bin/sh", "-c", "sleep 0.3; exit 7")
	_ = cmd.Run()
	var found *procfs.Exit
	var when int64
	patience.Until(t, "the exit is told", func() bool {
		w.take(func(e *procfs.Exit, at int64) {
			if int(e.PID) == cmd.Process.Pid {
				c := *e
				found, when = &c, at
			}
		})
		return found != nil
	})
	if found.Status != 7<<8 || string(found.Name()) != "sh" || found.Lived < int64(300*time.Millisecond) || int(found.PPID) != unix.Getpid() {
		t.Errorf("told %+v, called %s", found, found.Name())
	}
	if when < before || when > bootClock() {
		t.Errorf("it ended at %d, between %d and %d", when, before, bootClock())
	}
}

// If the kernel gives no totals, the values are absent and not zero.
func TestExitsWithoutTotals(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	f.put(fakeProcess{pid: 50, comm: "job", start: 9000, utime: 1})
	r, w := hearing(t, f)
	w.named, w.noTotals = make(map[uint32]named), noTotals
	r.kernel().forgetLoss()
	r.read("proc")
	f.remove(50)
	w.tell(103e9,
		procfs.Exit{PID: 50, TGID: 50, PPID: 1, LastOfGroup: true, Lived: -1, Status: 9},
		procfs.Exit{PID: 60, TGID: 60, PPID: 1, LastOfGroup: true, Lived: 1e9, Comm: comm("short"), Status: 1 << 8})
	r.pass(5)
	ev := r.read("proc")
	if e := findEvent(ev, metric.EventProcessExit, "50/9000"); e == nil || e.Label("how") != "signal 9" || e.At.Cont != 103e9 || e.Label("proc.psinfo.utime") != "" {
		t.Errorf("exit event %+v", e)
	}
	r.expect("proc", "60/10200", map[string]string{
		"proc.psinfo.cmd": "short", "proc.psinfo.ppid": "1", "proc.psinfo.utime": "!vanished", "proc.io.write_bytes": "!vanished",
		"proc.io.inherited_write_bytes": "!" + noTotals.String(),
	})
	if got := r.rows("proc"); len(got) != 2 {
		t.Errorf("rows %q", got)
	}
	r.expect("procs", "", map[string]string{"proc.unseen": "1"})
}
