package proc

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

func TestParentIsNotChargedWithItsChildren(t *testing.T) {
	f := newFakeTree(t)
	shell := fakeProcess{pid: 40, ppid: 1, comm: "sh", start: 2000, writeBytes: 1000, code: 9}
	job := fakeProcess{pid: 50, ppid: 40, comm: "job", start: 9000, writeBytes: 7_000_000, code: 9}
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	f.put(shell)
	f.put(job)
	r, w := hearing(t, f)
	r.read("proc")
	r.expect("proc", "40/2000", map[string]string{"proc.io.write_bytes": "1000", "proc.io.inherited_write_bytes": "0"})
	// The job writes a little more and ends, and so does a process that no sweep has met,
	// with a child of its own. The shell waits for both, and writes.
	f.remove(50)
	shell.writeBytes = 2000 + 8_000_000 + 500_000 + 30_000
	shell.utime = 9 // it has run
	f.put(shell)
	w.tell(103e9,
		procfs.Exit{PID: 50, TGID: 50, PPID: 40, LastOfGroup: true, Lived: 13e9, IO: procfs.IO{WriteBytes: 8_000_000}},
		procfs.Exit{PID: 61, TGID: 61, PPID: 60, LastOfGroup: true, Lived: 1e6, IO: procfs.IO{WriteBytes: 30_000}},
		procfs.Exit{PID: 60, TGID: 60, PPID: 40, LastOfGroup: true, Lived: 1e9, IO: procfs.IO{WriteBytes: 500_000}})
	r.pass(5)
	r.read("proc")
	r.expect("proc", "40/2000", map[string]string{"proc.io.write_bytes": "2000", "proc.io.inherited_write_bytes": "8530000"})
	r.expect("proc", "50/9000", map[string]string{"proc.io.write_bytes": "8000000", "proc.io.inherited_write_bytes": "0"})
	r.expect("proc", "60/10200", map[string]string{"proc.io.write_bytes": "500000", "proc.io.inherited_write_bytes": "30000"})
	// The shell ends, and init inherits all of it.
	f.remove(40)
	w.tell(108e9, procfs.Exit{PID: 40, TGID: 40, PPID: 1, LastOfGroup: true, Lived: 88e9, IO: procfs.IO{WriteBytes: 2500}})
	f.put(fakeProcess{pid: 1, comm: "init", start: 5, utime: 1, writeBytes: 2500 + 8_530_000 + 10})
	r.pass(5)
	r.read("proc")
	r.expect("proc", "40/2000", map[string]string{"proc.io.write_bytes": "2500"})
	r.expect("proc", "1/5", map[string]string{"proc.io.write_bytes": "10", "proc.io.inherited_write_bytes": "8532500"})
}

// A whole family ends between two sweeps. The totals of all of them come to the process that
// waited for the eldest.
func TestFamilyThatEndsTogetherLeavesEverything(t *testing.T) {
	f := newFakeTree(t)
	shell := fakeProcess{pid: 40, ppid: 1, comm: "sh", start: 2000, writeBytes: 1000}
	f.put(shell)
	const family = 12
	for i := range family {
		f.put(fakeProcess{pid: 50 + i, ppid: 49 + i, comm: "job", start: uint64(9000 + i), writeBytes: 1_000_000})
	}
	r, w := hearing(t, f)
	r.read("proc")
	for i := family - 1; i >= 0; i-- {
		f.remove(50 + i)
		parent := 49 + i
		if i == 0 {
			parent = 40
		}
		w.tell(103e9, procfs.Exit{PID: uint32(50 + i), TGID: uint32(50 + i), PPID: uint32(parent), LastOfGroup: true, Lived: 13e9, IO: procfs.IO{WriteBytes: 1_000_000}})
	}
	shell.writeBytes, shell.utime = 1500+family*1_000_000, 1
	f.put(shell)
	r.pass(5)
	r.read("proc")
	r.expect("proc", "40/2000", map[string]string{"proc.io.write_bytes": "1500", "proc.io.inherited_write_bytes": "12000000"})
}

// The notice of a child's end may come before its parent is listed: here the shell began
// during a sweep, and its first command had ended.
func TestParentThatIsMetLater(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	r, w := hearing(t, f)
	r.read("proc")
	w.tell(103e9, procfs.Exit{PID: 60, TGID: 60, PPID: 40, LastOfGroup: true, Lived: 1e6, IO: procfs.IO{WriteBytes: 500_000}})
	r.pass(5)
	r.read("proc")
	f.put(fakeProcess{pid: 40, ppid: 1, comm: "sh", start: 10290, writeBytes: 500_000 + 30})
	r.pass(5)
	r.read("proc")
	r.expect("proc", "40/10290", map[string]string{"proc.io.write_bytes": "30", "proc.io.inherited_write_bytes": "500000"})
}

// A shell that no sweep has met waits for one child after the other. After the first notice
// it is known as a parent. What the other children left it must not be forgotten when a
// sweep meets the shell.
func TestParentMetAfterItsChildrenInheritsFromAll(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	r, w := hearing(t, f)
	r.read("proc")
	f.put(fakeProcess{pid: 40, ppid: 1, comm: "sh", start: 10100, writeBytes: 1000 + 4*20_000_000})
	for i := range uint32(4) {
		w.tell(103e9, procfs.Exit{PID: 41 + i, TGID: 41 + i, PPID: 40, LastOfGroup: true, Lived: 1e8, IO: procfs.IO{WriteBytes: 20_000_000}})
	}
	r.pass(5)
	r.read("proc")
	r.expect("proc", "40/10100", map[string]string{"proc.io.write_bytes": "1000", "proc.io.inherited_write_bytes": "80000000"})
}

// If a process ignores the ends of its children, it does not wait for them, and the kernel
// adds nothing to it.
func TestWhoIgnoresChildrenInheritsNothing(t *testing.T) {
	var st procfs.Stat
	text := []byte("40 (sh) S 1 40 40 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 2000 0 0 0 0 0 0 0 0 0 0 65536 0 0\n")
	if err := st.Parse(text); err != nil || st.Ignored&childSignal == 0 {
		t.Fatalf("%v, ignored %x", err, st.Ignored)
	}
}

func TestInheritedIsUnknownWithoutNotices(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 40, comm: "sh", start: 2000, writeBytes: 1000})
	r := openReader(t, Options{Root: f.root}, everything)
	r.read("proc")
	r.expect("proc", "40/2000", map[string]string{"proc.io.write_bytes": "1000", "proc.io.inherited_write_bytes": "!" + needsNetAdmin.String()})
	h, w := hearing(t, f)
	h.read("proc")
	w.lost = true
	h.read("proc")
	h.expect("proc", "40/2000", map[string]string{"proc.io.inherited_write_bytes": "!" + exitsLost.String()})
	if h.value("proc", "40/2000", "proc.io.write_bytes").Miss != metric.Present {
		t.Error("what is known besides went as well")
	}
}
