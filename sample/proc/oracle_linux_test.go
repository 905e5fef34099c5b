package proc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tachograph/sample/darwin/darwintest"
	"tachograph/sample/metric"
)

// The oracle tests run the sources of macOS on a simulated Mac. Every value of it is known,
// because a scenario defines it.

const moduleRoot = "../.."

var simulated struct {
	sync.Once
	darwintest.Mac
	program string
	err     error
}

// mac builds the simulated Mac and this package's test program for it, once.
func mac(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("the long form: it takes a build for another system")
	}
	s := &simulated
	s.Do(func() {
		if s.Mac, s.err = darwintest.FindMac(moduleRoot); s.err != nil {
			return
		}
		s.program, s.err = s.Program("tachograph/sample/proc.test")
	})
	darwintest.Need(t, s.err)
}

// run holds the result of one run of the darwin half.
type run struct {
	t      testing.TB
	rounds []dumpedRound
	report string
	with   runWith
}

type runWith struct {
	at       string // scenario times of the readings
	args     string
	classes  string
	threads  string
	top      int
	root     string // holds the files of the Mac, if the test needs some
	override string // statements to append to the scenario
	real     bool   // the scenario's clocks run with this machine's, for measurements
	// happens is when each thing that events report does happen.
	happens map[string]float64
}

// promptness is by how many seconds of the scenario the time of an event may differ from the
// time at which it happened: a step of the clock, and the time that passes by itself.
const promptness = 0.5

// offBy returns how far an event's time is from the true time.
func (o *runWith) offBy(t testing.TB, e *dumpedEvent) float64 {
	t.Helper()
	what := fmt.Sprintf("%s of %s %s", e.Kind, e.Label("pid"), e.Label("name"))
	at, ok := o.happens[what]
	if !ok {
		t.Fatalf("an event tells of the %s, of which the scenario knows nothing: %+v", what, e)
	}
	return e.Time - at
}

// on runs the scenario. The program controls the scenario's clocks, and runs through it as
// fast as it can.
func (o runWith) on(t testing.TB, name string) *run {
	t.Helper()
	mac(t)
	dir := t.TempDir()
	file, err := filepath.Abs(filepath.Join(moduleRoot, "testdata", "darwin", name))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("include %q\nclock uptime %d\n%s\n", file, bootedBefore, o.override)
	file = filepath.Join(dir, "scenario.scn")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	report, clock := filepath.Join(dir, "report"), filepath.Join(dir, "clock")
	if err := os.WriteFile(clock, make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--scenario", file, "--stats", "--leaks", "--report", report}
	if o.root != "" {
		args = append(args, "--root", o.root, "--map", "/Applications="+o.root+"/Applications", "--map", "/Users="+o.root+"/Users")
	}
	if o.real {
		clock = ""
	} else {
		args = append(args, "--clock", clock)
	}
	cmd := simulated.Command(args, simulated.program, "-test.run", "^TestDump$")
	cmd.Env = append(os.Environ(), "TACHO_PROC_AT="+o.at, "TACHO_PROC_ARGS="+o.args, "TACHO_PROC_CLASSES="+o.classes,
		"TACHO_PROC_THREADS="+o.threads, "TACHO_PROC_TOP="+strconv.Itoa(o.top), "TACHO_PROC_CLOCK="+clock)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", name, err, errs.Bytes(), out[max(0, len(out)-2000):])
	}
	r := &run{t: t, with: o}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte("{")) {
			continue
		}
		var round dumpedRound
		if err := json.Unmarshal(lines.Bytes(), &round); err != nil {
			t.Fatal(err)
		}
		r.rounds = append(r.rounds, round)
	}
	if n := len(strings.Fields(o.at)); len(r.rounds) != n {
		t.Fatalf("%s: %d rounds instead of %d:\n%s", name, len(r.rounds), n, out)
	}
	calls, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	r.report = string(calls)
	if !strings.Contains(r.report, "leaks: mach: 0 vm regions, 0 port references, 0 suspended threads\nleaks: cf: 0 references, io: 0 references, notify: 0 tokens") {
		t.Errorf("%s: something was not released:\n%s", name, r.report)
	}
	return r
}

// key returns the key of the instance with a name in a round.
func (r *run) key(round int, name string) string {
	r.t.Helper()
	for key, in := range r.rounds[round].Instances {
		if in.Name == name {
			return key
		}
	}
	r.t.Fatalf("round %d has no instance %q", round, name)
	return ""
}

func (r *run) has(round int, name string) bool {
	for _, in := range r.rounds[round].Instances {
		if in.Name == name {
			return true
		}
	}
	return false
}

func (r *run) expect(round int, key string, want map[string]string) {
	r.t.Helper()
	for name, w := range want {
		if got, ok := r.rounds[round].Rows[key][name]; !ok || got != w {
			r.t.Errorf("round %d: %s of %s is %q, want %q", round, name, key, got, w)
		}
	}
}

func (r *run) event(round int, kind metric.EventKind, key string) *metric.Event {
	r.t.Helper()
	for i := range r.rounds[round].Events {
		if e := &r.rounds[round].Events[i]; e.Kind == kind && e.Key == key {
			if off := r.with.offBy(r.t, e); math.Abs(off) > promptness {
				r.t.Errorf("%s of %s is said to have been at %.2f s, it was at %.2f", kind, key, e.Time, e.Time-off)
			}
			return &e.Event
		}
	}
	r.t.Errorf("round %d does not tell of %s of %s: %+v", round, kind, key, r.rounds[round].Events)
	return &metric.Event{}
}

func TestMacLives(t *testing.T) {
	t.Parallel()
	r := runWith{at: "5 13.5 24.5 35 45", args: "redacted", happens: map[string]float64{
		"process start of 701 shell": 8, "process exit of 710 first": 10, "process exit of 740 left": 11,
		"process start of 710 second": 12, "process exit of 700 worker": 20, "process exec of 701 sorter": 22,
		"process start of 735 after": 24, "process exit of 701 sorter": 32, "process start of 736 after": 34.5,
	}}.on(t, "proc-lives.scn")
	worker, first := r.key(0, "000700 worker"), r.key(0, "000710 first")
	shell, second := r.key(1, "000701 shell"), r.key(1, "000710 second")
	left := r.key(0, "000740 left")

	if n := len(r.rounds[0].Events); n != 0 {
		t.Errorf("the first sweep told of %d events: %+v", n, r.rounds[0].Events)
	}
	// The parent label is the parent's key.
	if got := r.rounds[1].Instances[shell].Label("parent"); got != worker {
		t.Errorf("the parent of the shell is %q, not %q", got, worker)
	}
	r.expect(1, shell, map[string]string{"proc.psinfo.parent_unique": worker, "proc.psinfo.unique": shell})
	r.event(1, metric.EventProcessStart, shell)
	// A pid that is used again belongs to another process.
	if first == second {
		t.Error("two processes with one pid are taken for one")
	}
	if e := r.event(1, metric.EventProcessExit, first); e.Label("how") != "exit 0" || e.Label("last_seen") != "" {
		t.Errorf("exit of the first: %+v", e)
	}
	r.event(1, metric.EventProcessStart, second)
	r.expect(1, second, map[string]string{"proc.psinfo.utime": "45000"})
	// A zombie causes one event, and keeps its row until it is reaped.
	if e := r.event(1, metric.EventProcessExit, left); e.Label("how") != "exit 3" || e.Label("proc.psinfo.utime") != "11000000" {
		t.Errorf("exit of the zombie: %+v", e)
	}
	for round := 2; round < 5; round++ {
		r.expect(round, left, map[string]string{"proc.psinfo.sname": "Z", "proc.memory.rss": "!" + noZombie.String(), "proc.memory.footprint": "0"})
		for _, e := range r.rounds[round].Events {
			if e.Key == left {
				t.Errorf("the zombie is told of again: %+v", e)
			}
		}
	}
	// The final totals of a process that ended are exact.
	e := r.event(2, metric.EventProcessExit, worker)
	for name, want := range map[string]string{
		"how": "exit 1", "status": "256", "proc.psinfo.utime": "7000000000", "proc.psinfo.stime": "4000000000",
		"proc.io.read_bytes": "1020000", "proc.io.write_bytes": "2040000", "proc.energy.cpu": "9020000000",
		"proc.cpu.instructions": "20077", "proc.memory.footprint_max": "734003200", "proc.memory.footprint": "", "last_seen": "",
	} {
		if got := e.Label(name); got != want {
			t.Errorf("the event of the worker's end says %s %q, want %q", name, got, want)
		}
	}
	r.expect(2, worker, map[string]string{
		"proc.psinfo.utime": "7000000000", "proc.psinfo.stime": "4000000000", "proc.io.write_bytes": "2040000",
		"proc.memory.rss": "!vanished", "proc.memory.footprint": "!vanished", "proc.psinfo.cmd": "worker", "proc.psinfo.sname": "!vanished",
		"proc.id.uid": "501", "proc.psinfo.ppid": "1", "proc.psinfo.exe": "/usr/local/bin/worker", "proc.psinfo.unique": worker,
	})
	if _, there := r.rounds[3].Rows[worker]; there {
		t.Error("the worker has a row long after its end")
	}
	// Exec keeps the key and changes the name.
	x := r.event(2, metric.EventProcessExec, shell)
	if x.Label("was") != "shell" || x.Label("name") != "sorter" || x.Label("exe") != "/usr/bin/sorter" {
		t.Errorf("exec event %+v", x)
	}
	r.expect(2, shell, map[string]string{"proc.psinfo.cmd": "sorter", "proc.psinfo.exe": "/usr/bin/sorter", "proc.psinfo.psargs": "sorter -u"})
	if in := r.rounds[2].Instances[shell]; in.Name != "000701 sorter" || in.Label("exe") != "/usr/bin/sorter" {
		t.Errorf("after exec: %+v", in)
	}
	if e := r.event(3, metric.EventProcessExit, shell); e.Label("how") != "signal 9" {
		t.Errorf("exit of the shell: %+v", e)
	}
	r.expect(0, worker, map[string]string{"proc.psinfo.psargs": "worker --password=*** fast"})
	// Every process that lived between two sweeps is counted.
	for round, want := range []string{"0", "0", "1", "25", "25"} {
		r.expect(round, "procs", map[string]string{"proc.unseen": want})
	}
	r.expect(4, "procs", map[string]string{"proc.started": "29", "proc.exited": "3", "proc.runq.defunct": "1"})
}

func TestMacValues(t *testing.T) {
	t.Parallel()
	const long = "A process with a long name"
	for name, clock := range map[string]struct {
		override string
		ns       func(ticks uint64) string
	}{
		"apple silicon": {"", func(ticks uint64) string { return strconv.FormatUint(ticks/3*125+ticks%3*125/3, 10) }},
		"intel":         {"clock timebase 1 1\nsysctl hw.tbfrequency quad 1000000000", func(ticks uint64) string { return strconv.FormatUint(ticks, 10) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runWith{at: "0", args: "full", threads: "A*", override: clock.override}.on(t, "proc-values.scn")
			key := r.key(0, "000700 "+long)
			r.expect(0, key, map[string]string{
				"proc.psinfo.pid": "700", "proc.psinfo.tgid": "700", "proc.psinfo.cmd": long, "proc.psinfo.sname": "R", "proc.psinfo.ppid": "1",
				"proc.psinfo.pgid": "699", "proc.psinfo.pgrp": "699", "proc.psinfo.tty": "268435459", "proc.psinfo.tpgid": "698", "proc.psinfo.tty_pgrp": "698",
				"proc.psinfo.nice": "-5", "proc.psinfo.priority": "47", "proc.psinfo.translated": "1",
				"proc.psinfo.exe": "/Applications/" + long, "proc.psinfo.psargs": "/Applications/A process --token abc plain", "proc.psinfo.cwd": "/Users/ana/work",
				"proc.psinfo.threads": "2", "proc.psinfo.threads_running": "3",
				"proc.id.uid": "501", "proc.id.euid": "502", "proc.id.suid": "503", "proc.id.gid": "20",
				"proc.psinfo.utime": "500000000000000", "proc.psinfo.stime": "250000000000000",
				"proc.memory.rss": "12582912", "proc.memory.size": "419430400", "proc.memory.vmsize": "419430400",
				"proc.memory.footprint": "21474836480", "proc.memory.footprint_max": "32212254720", "proc.memory.wired": "5368709120",
				"proc.psinfo.faults": "100000", "proc.psinfo.minflt": "93000", "proc.psinfo.majflt": "19000000000", "proc.psinfo.maj_flt": "19000000000",
				"proc.psinfo.cow_faults": "300", "proc.psinfo.messages_sent": "400", "proc.psinfo.messages_received": "500",
				"proc.psinfo.syscalls_mach": "600", "proc.psinfo.syscalls_unix": "700", "proc.psinfo.pswitch": "800",
				"proc.io.read_bytes": "11000000000", "proc.io.write_bytes": "12000000000", "proc.io.logical_writes": "13000000000",
				"proc.wakeups.idle": "14000000000", "proc.wakeups.interrupt": "15000000000",
				"proc.cpu.instructions": "16000000000", "proc.cpu.cycles": "17000000000", "proc.energy.cpu": "18000000000",
				"proc.energy.billed": "20000000000", "proc.energy.serviced": "21000000000", "proc.energy.pcore": "22000000000",
				"proc.cpu.qos.default": clock.ns(3000000000000), "proc.cpu.qos.maintenance": clock.ns(3000000000003),
				"proc.cpu.qos.background": clock.ns(3000000000006), "proc.cpu.qos.utility": clock.ns(3000000000009),
				"proc.cpu.qos.legacy": clock.ns(3000000000012), "proc.cpu.qos.user_initiated": clock.ns(3000000000015),
				"proc.cpu.qos.user_interactive": clock.ns(3000000000018), "proc.cpu.billed_system_time": clock.ns(3000000000021),
				"proc.cpu.serviced_system_time": clock.ns(3000000000024), "proc.cpu.runnable_time": clock.ns(3000000000027),
				"proc.cpu.pcore.utime": clock.ns(3000000000030), "proc.cpu.pcore.stime": clock.ns(3000000000033),
				"proc.cpu.pcore.instructions": "23000000000", "proc.cpu.pcore.cycles": "24000000000",
				"proc.psinfo.cutime": clock.ns(3000000000036), "proc.psinfo.cstime": clock.ns(3000000000039),
			})
			for name, v := range r.rounds[0].Rows[key] {
				if v == "!not read" {
					t.Errorf("%s was forgotten", name)
				}
				if strings.Contains(v, "SECRET") {
					t.Errorf("%s tells of the environment: %s", name, v)
				}
			}
			// A counter that the kernel has stopped does not move, and does not fall.
			const stopped = "2147483647"
			r.expect(0, r.key(0, "000701 stopped"), map[string]string{
				"proc.psinfo.faults": stopped, "proc.psinfo.minflt": stopped, "proc.psinfo.cow_faults": stopped, "proc.psinfo.messages_sent": stopped,
				"proc.psinfo.messages_received": stopped, "proc.psinfo.syscalls_mach": stopped, "proc.psinfo.syscalls_unix": stopped, "proc.psinfo.pswitch": stopped,
			})
			r.expect(0, r.key(0, "000702 halted"), map[string]string{"proc.psinfo.sname": "T", "proc.psinfo.ttyname": "?"})
			r.expect(0, "procs", map[string]string{"proc.runq.stopped": "1"})
			r.expect(0, key+"/273", map[string]string{
				"thread.pid": "700", "thread.tid": "273", "thread.name": "main", "thread.sname": "R", "thread.utime": "5000000000",
				"thread.stime": "3000", "thread.cpu_usage": "333",
			})
			r.expect(0, key+"/546", map[string]string{"thread.name": "worker two", "thread.sname": "D", "thread.utime": "7000"})
			if in := r.rounds[0].Instances[key+"/273"]; in.Label("process") != key || in.Name != "000700/000273 main" {
				t.Errorf("thread %+v", in)
			}
		})
	}
}

// TestMacOldKernel: the kernel refuses the newer flavours of rusage.
func TestMacOldKernel(t *testing.T) {
	t.Parallel()
	r := runWith{at: "0", override: "fail proc_pid_rusage EINVAL count 2"}.on(t, "proc-values.scn")
	r.expect(0, r.key(0, "000700 A process with a long name"), map[string]string{
		"proc.io.read_bytes": "11000000000", "proc.cpu.instructions": "16000000000", "proc.energy.billed": "20000000000",
		"proc.energy.cpu": "!unsupported", "proc.cpu.pcore.utime": "!unsupported",
	})
}

func TestMacRefusals(t *testing.T) {
	t.Parallel()
	r := runWith{at: "0 1 2", args: "full"}.on(t, "proc-refused.scn")
	for round := range 3 {
		for _, name := range []string{"000001 launchd", "000701 guarded"} {
			key := r.key(round, name)
			r.expect(round, key, map[string]string{
				"proc.psinfo.utime": "!permission denied", "proc.memory.rss": "!permission denied", "proc.io.read_bytes": "!permission denied",
				"proc.memory.footprint": "!permission denied", "proc.fd.count": "!permission denied", "proc.psinfo.sname": "!permission denied",
				"proc.psinfo.nice": "0", "proc.psinfo.unique": key,
			})
		}
		r.expect(round, r.key(round, "000001 launchd"), map[string]string{
			"proc.id.uid": "0", "proc.psinfo.exe": "/sbin/launchd", "proc.psinfo.psargs": "!permission denied", "proc.psinfo.cwd": "!permission denied",
		})
		r.expect(round, r.key(round, "000700 mine"), map[string]string{
			"proc.psinfo.utime": "2000000", "proc.io.read_bytes": "77", "proc.fd.count": "4", "proc.psinfo.psargs": "mine",
		})
		r.expect(round, r.key(round, "000702 gone"), map[string]string{
			"proc.psinfo.utime": "!vanished", "proc.io.read_bytes": "!vanished", "proc.psinfo.ppid": "1",
		})
		if r.has(round, "000703 fleeting") {
			t.Error("a process without identity was recorded")
		}
	}
}

// TestMacForeignExits follows the exits of processes whose status we may not read.
func TestMacForeignExits(t *testing.T) {
	t.Parallel()
	r := runWith{at: "8 30", happens: map[string]float64{
		"process exit of 700 theirs": 20, "process exit of 701 mine": 20,
	}}.on(t, "proc-foreign.scn")
	e := r.event(1, metric.EventProcessExit, r.key(0, "000700 theirs"))
	if e.Label("status") != "" || e.Label("last_seen") != "" || e.Label("proc.psinfo.utime") != "" {
		t.Errorf("the exit of another user's process: %+v", e)
	}
	mine := r.key(0, "000701 mine")
	e = r.event(1, metric.EventProcessExit, mine)
	if e.Label("how") != "exit 2" || e.Label("proc.psinfo.utime") != "20000000" {
		t.Errorf("the exit of our own process: %+v", e)
	}
	r.expect(1, mine, map[string]string{"proc.psinfo.utime": "20000000"})
}

// TestMacBusiest reads the threads of the processes that used most CPU since the last sweep.
func TestMacBusiest(t *testing.T) {
	t.Parallel()
	r := runWith{at: "5 6", top: 1, classes: "thread", override: `
		unfreeze
		process 800 { name burner; path "/bin/burner"; ppid 1; user_ns counter 0 900000000; thread 0x333 { name hot; user_ns 1 } }
		process 801 { name heavy; path "/bin/heavy"; ppid 1; user_ns 900000000000; thread 0x444 { name cold; user_ns 1 } }`}.on(t, "proc-values.scn")
	var names []string
	for _, in := range r.rounds[1].Instances {
		names = append(names, in.Name)
	}
	if len(names) != 1 || names[0] != "000800/000819 hot" {
		t.Errorf("threads %q", names)
	}
}

var statLine = regexp.MustCompile(`(?m)^stats:\s+(\d+) (\S+)$`)

// calls returns how often each function was called.
func (r *run) calls() map[string]int {
	m := make(map[string]int)
	for _, f := range statLine.FindAllStringSubmatch(r.report, -1) {
		m[f[2]], _ = strconv.Atoi(f[1])
	}
	return m
}

// crowdOf returns a scenario of n processes.
func crowdOf(n int) string {
	var b strings.Builder
	b.WriteString("clear process\n")
	for i := range n {
		fmt.Fprintf(&b, "process %d { name p%d; path \"/bin/p\"; ppid 1; uid 501; user_ns %d }\n", 2000+i, i, i*125)
	}
	return b.String()
}

// BenchmarkMacCrowd measures a sweep. Its cost grows with the number of processes, not
// faster.
func BenchmarkMacCrowd(b *testing.B) {
	mac(b)
	for _, n := range []int{400, 2000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			least := math.Inf(1)
			for b.Loop() {
				r := runWith{at: strings.Repeat("0 ", 20), classes: "process", override: crowdOf(n), real: true}.on(b, "proc-values.scn")
				for _, round := range r.rounds {
					least = min(least, round.Took)
				}
			}
			b.ReportMetric(least*1e3, "ms/sweep")
			b.ReportMetric(least*1e6/float64(n), "us/process")
		})
	}
}

// TestMacCrowd reads 400 and 2,000 processes, and counts the calls, including those that
// read clocks. The number of calls for each process must be the same.
func TestMacCrowd(t *testing.T) {
	t.Parallel()
	least, most := math.Inf(1), 0.0
	for _, n := range []int{400, 2000} {
		few := runWith{at: "0 0", classes: "process", override: crowdOf(n)}.on(t, "proc-values.scn")
		many := runWith{at: "0 0 0 0 0 0", classes: "process", override: crowdOf(n)}.on(t, "proc-values.scn")
		for i := 0; i < n; i += 7 {
			name := fmt.Sprintf("%06d p%d", 2000+i, i)
			many.expect(5, many.key(5, name), map[string]string{"proc.psinfo.utime": strconv.Itoa(i * 125)})
		}
		before, after := few.calls(), many.calls()
		count := func(names ...string) float64 {
			total := 0
			for _, name := range names {
				total += after[name] - before[name]
				t.Logf("%s: %d calls in 4 rounds of %d processes", name, after[name]-before[name], n)
			}
			return float64(total) / 4 / float64(n)
		}
		perProcess := count("proc_pidinfo", "responsibility_get_pid_responsible_for_pid", "csops", "proc_pid_rusage", "proc_pidpath", "proc_pidfdinfo", "sysctl", "kevent")
		if perProcess <= 1 || perProcess >= 3 {
			t.Errorf("%.3f calls per process and round of %d processes; must be under 3\n%s", perProcess, n, few.report)
		}
		least, most = min(least, perProcess), max(most, perProcess)
		// Go's scheduler reads one of the clocks by itself, more often the longer a round
		// lasts, and so does the clock of a round.
		if clocks := count("mach_continuous_time", "clock_gettime"); clocks > 0.1 {
			t.Errorf("%.3f looks at clocks per process and round of %d processes", clocks, n)
		}
	}
	if most > 1.05*least {
		t.Errorf("%.3f calls per process and round in one crowd, %.3f in another", least, most)
	}
}
