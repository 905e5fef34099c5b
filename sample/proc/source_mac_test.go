package proc

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

const someMicros = 1_000_000_050_000_000

func TestMacUnseenAreCountedByTheirNumbers(t *testing.T) {
	one := &macPerson{pid: 1, unique: 1, micros: someMicros}
	m, r := newFakeMac(t, one, &macPerson{pid: 9, unique: 40, micros: someMicros})
	unseen := func(want string) {
		t.Helper()
		if got := r.cell("", "proc.unseen"); got != want {
			t.Errorf("%s unseen, want %s", got, want)
		}
	}
	r.read()
	unseen("0")
	m.processes = append(m.processes, &macPerson{pid: 10, unique: 41, micros: someMicros + 1})
	r.read()
	unseen("0")
	// 42 to 44 came and went. Nobody knows that until 45 is seen.
	r.read()
	unseen("0")
	m.processes = append(m.processes, &macPerson{pid: 11, unique: 45, micros: someMicros + 2})
	r.read()
	unseen("3")
	// 43 was born before, but was not in the list yet, so it was counted as one that came
	// and went. The count does not fall, but the next one is not added.
	m.processes = append(m.processes, &macPerson{pid: 12, unique: 43, micros: someMicros + 3})
	r.read()
	unseen("3")
	m.processes = append(m.processes, &macPerson{pid: 13, unique: 47, micros: someMicros + 4})
	r.read()
	unseen("3")
	m.processes = append(m.processes, &macPerson{pid: 14, unique: 49, micros: someMicros + 5})
	r.read()
	unseen("4")
	if got := r.cell("", "proc.started"); got != "9" {
		t.Errorf("%s started, want 9: 41 to 49", got)
	}
}

func TestMacPidIsUsedAgain(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, comm: "first", user: 3, begin: 11})
	r.read()
	if !slices.Contains(m.followed, 7) {
		t.Error("a process is not followed")
	}
	m.processes[0] = &macPerson{pid: 7, unique: 6, micros: someMicros + 1, comm: "second", user: 6, begin: 12}
	dead := make([]byte, libproc.RusageSize(libproc.NewestRusage))
	m.usage(&macPerson{begin: 11, user: 30}, dead)
	m.events = []macEvent{{pid: 7, status: 9, known: true, cause: "memory pressure", at: metric.Stamp{Wall: 5, Awake: 5, Cont: 5}, usage: dead}}
	ev := r.read()
	if got := r.keys(); !slices.Equal(got, []string{"5", "6"}) {
		t.Fatalf("rows %q: the second, and the last of the first", got)
	}
	r.expect("5", map[string]string{"proc.psinfo.utime": "1250", "proc.psinfo.cmd": "first", "proc.memory.rss": "!vanished"})
	r.expect("6", map[string]string{"proc.psinfo.utime": "250", "proc.psinfo.cmd": "second"})
	e := findEvent(ev, metric.EventProcessExit, "5")
	if e == nil || e.Label("how") != "signal 9" || e.Label("cause") != "memory pressure" || e.At.Cont != 5 || e.Label("proc.psinfo.utime") != "1250" {
		t.Errorf("exit event %+v", e)
	}
	if findEvent(ev, metric.EventProcessStart, "6") == nil {
		t.Error("no start event of the second")
	}
	r.read()
	if got := r.keys(); !slices.Equal(got, []string{"6"}) {
		t.Errorf("rows %q", got)
	}
}

// What the kernel tidied up has not failed.
func TestMacIdleExit(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros})
	r.read()
	m.processes, m.events = nil, []macEvent{{pid: 7, status: 9, known: true, idle: true, at: r.now}}
	if e := findEvent(r.read(), metric.EventProcessExit, "5"); e == nil || e.Label("how") != "idle exit" || e.Label("status") != "9" || e.Label("cause") != "" {
		t.Errorf("exit event %+v", e)
	}
}

func TestMacTotalsOfAnotherLifeAreNotTaken(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, begin: 11})
	r.read()
	m.processes = nil
	dead := make([]byte, libproc.RusageSize(libproc.NewestRusage))
	m.usage(&macPerson{begin: 99, user: 30}, dead)
	m.events = []macEvent{{pid: 7, known: true, at: r.now, usage: dead}}
	if e := findEvent(r.read(), metric.EventProcessExit, "5"); e == nil || e.Label("proc.psinfo.utime") != "" {
		t.Errorf("exit event %+v", e)
	}
	if got := r.keys(); len(got) != 0 {
		t.Errorf("rows %q", got)
	}
}

func TestMacEndsAreNotMixedUp(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros})
	r.read()
	// A zombie has the place in the list that the other process had.
	m.processes = []*macPerson{{pid: 8, unique: 6, micros: someMicros, stat: 5, exit: 3 << 8}}
	ev := r.read()
	if e := findEvent(ev, metric.EventProcessExit, "5"); e == nil || e.Label("status") != "" || e.Label("last_seen") == "" {
		t.Errorf("exit event %+v", e)
	}
	if e := findEvent(ev, metric.EventProcessExit, "6"); e == nil || e.Label("how") != "exit 3" {
		t.Errorf("exit event %+v", e)
	}
}

func TestMacPidChangesHandsBetweenTwoCalls(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, user: 3, begin: 11})
	r.read()
	m.processes[0].taskMicros, m.processes[0].begin = someMicros+77, 12
	r.read()
	r.expect("5", map[string]string{"proc.psinfo.utime": "!vanished", "proc.io.read_bytes": "!vanished", "proc.psinfo.pid": "7"})
}

func TestMacRefusalIsRemembered(t *testing.T) {
	p := &macPerson{pid: 7, unique: 5, micros: someMicros, uid: 0, foreign: true, path: "/bin/x"}
	m, r := newFakeMac(t, p)
	r.read()
	asked := m.calls["task"] + m.calls["usage"]
	r.read()
	if again := m.calls["task"] + m.calls["usage"]; again != asked {
		t.Errorf("asked %d more times for what is refused", again-asked)
	}
	r.expect("5", map[string]string{
		"proc.psinfo.utime": "!permission denied", "proc.energy.billed": "!permission denied", "proc.psinfo.sname": "!permission denied",
		"proc.fd.count": "!permission denied", "proc.psinfo.exe": "/bin/x", "proc.id.uid": "0",
	})
	const told = "1 of 1 processes are other users' and could not be read: CPU time, memory, I/O, energy and open files of theirs are absent; started with sudo, the recorder reads all"
	if got := r.source.Notice(); got != told {
		t.Errorf("notice %q", got)
	}
	if got := r.cell("", "proc.runq.unknown"); got != "1" {
		t.Errorf("%s in an unknown state", got)
	}
	p.uid, p.foreign = 501, false // it now belongs to this user
	r.read()
	r.expect("5", map[string]string{"proc.psinfo.utime": "0", "proc.psinfo.sname": "S"})
	p.foreign = true
	r.read()
	if err := r.source.Refresh(); err != nil {
		t.Fatal(err)
	}
	p.foreign = false
	r.read()
	r.expect("5", map[string]string{"proc.psinfo.utime": "0"})
}

func TestMacExec(t *testing.T) {
	p := &macPerson{pid: 7, unique: 5, micros: someMicros, comm: "sh", path: "/bin/sh"}
	m, r := newFakeMac(t, p)
	r.read()
	in := r.frames[0].Block().Rows[0]
	if in.Name != "000007 sh" || in.Label("start") != wallText(someMicros*1000) {
		t.Errorf("instance %+v", in)
	}
	r.expect("5", map[string]string{"proc.psinfo.start_time": "50000000000", "proc.psinfo.start_wall": "1000000050000000"})
	rev := in.Rev
	p.comm, p.path = "a name of more t", "/usr/bin/a name of more than sixteen bytes"
	at := metric.Stamp{Wall: 9, Awake: 9, Cont: 9}
	m.events = []macEvent{{pid: 7, exec: true, at: at}}
	e := findEvent(r.read(), metric.EventProcessExec, "5")
	if e == nil || e.At != at || e.Label("was") != "sh" || e.Label("name") != "a name of more than sixteen bytes" {
		t.Errorf("exec event %+v", e)
	}
	if in.Name != "000007 a name of more than sixteen bytes" || in.Rev == rev {
		t.Errorf("after exec %+v", in)
	}
	paths := m.calls["path"]
	if ev := r.read(); len(ev) != 0 || m.calls["path"] != paths {
		t.Errorf("nothing happened, but %v, and %d calls", ev, m.calls["path"]-paths)
	}
}

func TestMacSocketsAreCounted(t *testing.T) {
	p := &macPerson{pid: 7, unique: 5, micros: someMicros, fds: []uint64{0, 1, 2, 1, 3, 0}}
	_, r := newFakeMac(t, p)
	r.read()
	r.expect("5", map[string]string{"proc.fd.count": "6", "proc.net.tcp_count": "2", "proc.net.udp_count": "1"})
	p.fds = make([]uint64, 5000) // more than the buffer holds
	r.read()
	r.expect("5", map[string]string{"proc.fd.count": "5000", "proc.net.tcp_count": "0"})
}

func TestMacOlderKernelsKnowLess(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, diskRead: 1 << 40, instructions: 5})
	m.flavour = 2
	r.read()
	r.expect("5", map[string]string{"proc.io.read_bytes": "1099511627776", "proc.cpu.instructions": "!unsupported", "proc.energy.cpu": "!unsupported"})
	asked := m.calls["usage"]
	r.read()
	if n := m.calls["usage"] - asked; n != 1 {
		t.Errorf("%d calls for one process: the flavour is not remembered", n)
	}
}

// If a hardware counter does not move for any process, although processes compute, it no
// longer counts: its values are absent until it moves again. If it does not move while no
// process computes, that proves nothing.
func TestMacCountersThatStand(t *testing.T) {
	busy := &macPerson{pid: 7, unique: 5, micros: someMicros, begin: 1, instructions: 5}
	idle := &macPerson{pid: 8, unique: 6, micros: someMicros, begin: 1, instructions: 50}
	_, r := newFakeMac(t, busy, idle)
	const ticks = 150e6 // 6.25 s
	for i, step := range []struct {
		ticks, instructions uint64
		want                string
	}{
		{ticks, 1, "6"}, {ticks, 1, "7"}, {0, 0, "7"}, {0, 0, "7"}, {0, 0, "7"},
		{ticks, 0, "7"}, {ticks, 0, "7"}, {ticks, 0, "!" + standsStill.String()}, {0, 0, "!" + standsStill.String()},
		{ticks, 1, "!" + standsStill.String()}, {0, 1, "9"}, {ticks, 0, "9"},
	} {
		busy.user += step.ticks
		busy.instructions += step.instructions
		r.read()
		if got := r.cell("5", "proc.cpu.instructions"); got != step.want {
			t.Errorf("sweep %d: %s, want %s", i, got, step.want)
		}
		other := "50"
		if step.want[0] == '!' {
			other = step.want
		}
		if got := r.cell("6", "proc.cpu.instructions"); got != other {
			t.Errorf("sweep %d: of another %s, want %s", i, got, other)
		}
		if got := r.cell("5", "proc.cpu.pcore.utime"); got != "!"+noCounter.String() {
			t.Errorf("sweep %d: what nothing counts: %s", i, got)
		}
	}
}

func TestMacSweepsDoNotAllocatePerProcess(t *testing.T) {
	const n = 500
	var people []*macPerson
	for i := range n {
		people = append(people, &macPerson{pid: int32(100 + i), unique: uint64(i + 1), micros: someMicros, comm: "p", path: "/bin/p"})
	}
	_, r := newFakeMac(t, people...)
	for range 3 {
		r.read()
	}
	if got := testing.AllocsPerRun(10, func() { r.read() }); got > n/20 {
		t.Errorf("a sweep over %d processes allocates %v times", n, got)
	}
}

func TestMacClose(t *testing.T) {
	m, r := newFakeMac(t)
	if err := r.source.Close(); err != nil || !m.closed {
		t.Error("the watch was left open")
	}
}

// BenchmarkMacSweep measures a sweep without the kernel's part.
func BenchmarkMacSweep(b *testing.B) {
	var people []*macPerson
	for i := range 1000 {
		people = append(people, &macPerson{pid: int32(100 + i), unique: uint64(i + 1), micros: someMicros, comm: "p", path: "/bin/p"})
	}
	_, r := newFakeMac(b, people...)
	r.read()
	b.ReportAllocs()
	for b.Loop() {
		r.read()
	}
}

// A process that has executed nothing does not show whether the processor counts, wherever
// it is in the list.
func TestMacZeroIsAValueWhereOthersCount(t *testing.T) {
	busy := &macPerson{pid: 7, unique: 5, micros: someMicros, instructions: 1e6}
	idle := &macPerson{pid: 8, unique: 6, micros: someMicros}
	for _, people := range [][]*macPerson{{busy, idle}, {idle, busy}} {
		t.Run(fmt.Sprintf("the idle one is number %d", slices.Index(people, idle)), func(t *testing.T) {
			_, r := newFakeMac(t, people...)
			r.read()
			r.expect("6", map[string]string{"proc.cpu.instructions": "0"})
			r.expect("5", map[string]string{"proc.cpu.instructions": "1000000"})
		})
	}
}
