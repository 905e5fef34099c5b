package mach

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The samples are the stacks of the scenario, with everything known about each frame.
func TestStacks(t *testing.T) {
	t.Parallel()
	const app, small, translated, restless = "sample 700 1m 300 1080", "sample 702 1m 100 20", "sample 701 1m 100 10", "sample 704 1m 100 5"
	const protected, again, all, self, nobody = "sample 1 400ms 100", "sample 1 300ms 1", "sample 0 600ms 100", "sample -1 100ms 1", "sample 31337 1s 1"
	o := simulated(t).tidy(t, frozen, strings.Join([]string{app, small, translated, restless, protected, again, all, self, nobody}, ";"))

	p := o.part(t, app)
	const broken = "||1||2|"
	for thread, want := range map[string]string{
		"711": "main|com.apple.main-thread|0||0|compute@App+4010 loop@App+4188 main@App+3f24 1804c0000",
		"712": "leaf||1||0|mach_msg2_trap@cache:libsystem_kernel.dylib+ce8 pthread_start@cache:libsystem_pthread.dylib+7010 thread_start@cache:libsystem_pthread.dylib+2008",
		"713": "||1||1|main@App+3f04 main@App+3f04 main@App+3f04 main@App+3f04",
		"716": "||1||0|__psynch_cvwait@cache:libsystem_kernel.dylib+45d8 pthread_start@cache:libsystem_pthread.dylib+7010 thread_start@cache:libsystem_pthread.dylib+2008",
		"717": "||1||0|secret@App+5004 plugin.dylib+910 secret@App+10000",
		"721": broken + "1 2 3", "722": broken + "1 2", "723": broken + "1 2 3", "724": broken + "1 2 3", "725": broken + "1 2 3",
		"726": broken + "1 2 3", "727": broken + "1 2", "728": "||1||0|1 2 414141414141 4", "729": broken + "1 2 3", "72a": "||1||0|5",
		"72b": "||1||0|mach_msg2_trap@cache:libsystem_kernel.dylib+ce8 thread_start@cache:libsystem_pthread.dylib+2008",
	} {
		p.always(t, "700/7000/app/"+thread, want)
	}
	looked := p.statistic(t, "rounds") - p.statistic(t, "missed")
	others := p.statistic(t, "suspensions") - looked
	shares(t, p.stacks["700/7000/app/714"], others, map[string]float64{
		"||0||0|compute@App+4010 main@App+3f24": 0.7, "||0||0|loop@App+4188 main@App+3f24": 0.3})
	shares(t, p.stacks["700/7000/app/715"], others, map[string]float64{
		"||0||0|compute@App+4004 loop@App+4184 main@App+3f04": 0.5, "||0||0|util@Util+1004 main@App+3f04": 0.5})
	// Three threads can be read in one suspension, unless the machine is slow.
	if n := p.statistic(t, "suspensions"); n < looked || n > 3*looked || n == 3*looked && !simulated(t).Emulated() || looked == 0 || p.statistic(t, "tasks") != 1 {
		t.Errorf("%d suspensions in %d rounds, %d tasks", n, looked, p.statistic(t, "tasks"))
	}
	if p.statistic(t, "gone") > 0 || p.statistic(t, "failed") > 0 && o.longest() < patience/4 ||
		p.statistic(t, "samples")+p.statistic(t, "failed") != 18*looked {
		t.Errorf("of %d rounds:\n%s", looked, p.text)
	}

	p = o.part(t, small)
	p.always(t, "702/7020/small/741", "|work|0||0|work@small+1104 main@small+1004")
	p.always(t, "702/7020/small/742", "||1||0|main@small+1008")
	p = o.part(t, translated)
	p.always(t, "701/7010/intelapp/731", "||1||0|usleep@cache:libsystem_c.dylib+1004 main@intelapp+1004 200000000")

	// A thread that waits, but elsewhere than at the last look, is suspended, too.
	p = o.part(t, restless)
	if n := p.statistic(t, "rounds") - p.statistic(t, "missed"); p.statistic(t, "suspensions") != n || len(p.stacks["704/7040/restless/781"]) == 0 {
		t.Errorf("a thread that moves between two calls:\n%s", p.text)
	}

	// A process that refuses is asked once, and seen in stackshots.
	const launchd = "||1||0|K:kernel+a00200 K:kernel+a00300 launchd+1000 dyld+f04"
	for i, command := range []string{protected, again} {
		p = o.part(t, command)
		p.always(t, "1/1/launchd/66", launchd)
		if n := p.statistic(t, "tasks"); n != 1-i {
			t.Errorf("%s: %d tasks asked for", command, n)
		}
	}
	if !strings.Contains(o.report, "refused: task of pid 1, 1 times\n") {
		t.Errorf("asked again after a refusal:\n%s", o.report)
	}

	p = o.part(t, all)
	p.always(t, "1/1/launchd/66", launchd)
	p.always(t, "0/0/kernel_task/64", "||0||0|K:kernel+a00100")
	own := ""
	if simulated(t).Arch == "arm64" {
		own = "libsystem" // a program for the other processor uses another cache, whose names this one does not know
	}
	for thread, texts := range p.stacks {
		for text := range texts {
			if thread == "700/7000/app/712" && (!strings.HasPrefix(text, "leaf||1|mach port receive 0x1203|0|K:kernel+b00000 K:kernel+b00100 ") || !strings.Contains(text, "cache:") || !strings.Contains(text, own)) {
				t.Errorf("%s: %s", thread, text)
			}
			if thread == "700/7000/app/711" && !strings.HasPrefix(text, "main|com.apple.main-thread|0||0|App+4010 App+4188 ") {
				t.Errorf("%s: %s", thread, text)
			}
		}
	}
	// Between two stackshots, a thread that has not run since before them has waited, for the one
	// that has the lock.
	if found := regexp.MustCompile(`(?m)^waited 700/716 for 700/7000/app/711\|main\|com.apple.main-thread = (\d+)$`).FindStringSubmatch(p.text); found == nil {
		t.Errorf("it is not known how long a thread waited, and for whom:\n%s", p.text)
	} else if ms, _ := strconv.Atoi(found[1]); ms < 300 || ms > 700 {
		t.Errorf("a thread waited %d ms between two stackshots, which are taken twice a second", ms)
	}
	if strings.Contains(p.text, "waited 700/711") || strings.Contains(p.text, "waited 700/714") {
		t.Errorf("a running thread waited:\n%s", p.text)
	}
	if p.statistic(t, "rounds") != 2 || !strings.Contains(p.text, "how stackshot (at most 2 a second: each stops all processors, for 3ms)") || p.statistic(t, "longest") != 3e6 {
		t.Errorf("stackshots:\n%s", p.text)
	}
	if p = o.part(t, self); p.statistic(t, "tasks") != 0 || !strings.Contains(p.text, "how stackshot") {
		t.Errorf("a process that looks at itself:\n%s", p.text)
	}
	if p = o.part(t, nobody); !strings.Contains(p.text, "error process 31337: there is no such process") {
		t.Errorf("a process that is not there:\n%s", p.text)
	}
}

// shares checks how often each stack of a thread was seen. A cycle advances with each
// suspension of its task, also if that is for other threads.
func shares(t *testing.T, got map[string]int, others int, want map[string]float64) {
	t.Helper()
	all := 0
	for _, n := range got {
		all += n
	}
	off := float64(3 + others)
	if len(got) != len(want) || all < 10 {
		t.Errorf("%v, want %v of %d", got, want, all)
	}
	for text, share := range want {
		if d := float64(got[text]) - share*float64(all); d < -off || d > off {
			t.Errorf("%q: %d of %d, want %.0f %%", text, got[text], all, share*100)
		}
	}
}

func TestStacksOnIntel(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	if m.Emulated() {
		t.Skip("there are no programs for Apple silicon on Intel")
	}
	const app = "sample 800 1m 300 100"
	o := m.tidy(t, intel, app)
	p := o.part(t, app)
	p.always(t, "800/8000/app/811", "||0||0|work@app+1105 main@app+1009 7ff812345678")
	p.always(t, "800/8000/app/813", "||1||0|main@app+1001")
	p.always(t, "800/8000/app/814", "||1||0|work@app+1100 main@app+1009 7ff812345678")
}

// Each call fails in turn: nothing stays suspended, and no port right is lost.
func TestEachCallFails(t *testing.T) {
	t.Parallel()
	o := simulated(t).tidy(t, frozen, "fail 702 1m 500 4;fail 1 1ms 1")
	if strings.Contains(o.out, "bad:") {
		t.Errorf("%s", o.out)
	}
	for _, call := range strings.Fields("Open Process Threads Identify Describe Registers Read Suspend Resume Close Dyld Shot") {
		if strings.Count(o.out, call+":") < 2 {
			t.Errorf("%s did not fail:\n%s", call, o.out)
		}
	}
}

// Killed at any call: nothing stays suspended.
func TestKilledAtEachCall(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	inside, calls := 0, 0
	for n := 1; ; n++ {
		o := m.run(t, frozen, fmt.Sprintf("kill 702 1ms 1 %d", n))
		if o.err == nil {
			break
		}
		calls++
		_, call, _ := strings.Cut(strings.TrimSpace(o.out), "killed at ")
		if o.killed == "" {
			continue // nothing has been suspended yet
		}
		inside++
		if strings.Join(strings.Fields(o.killed), " ") != "leaks: killed with 0 suspended threads, 0 suspended tasks" {
			t.Errorf("killed at %s, call %d: %s", call, n, o.killed)
		}
	}
	if inside < 4 || calls < 20 {
		t.Errorf("killed at %d calls, %d of them after the first suspension", calls, inside)
	}
}

// If a process ends while it is sampled, the session ends, or the process is no longer seen.
// That is not an error. A program that executes another one is still sampled. Images that
// are loaded later are known when they are there.
func TestWhatEnds(t *testing.T) {
	t.Parallel()
	const ends, becomes = "sample 710 8s 200", "sample 711 1s 100"
	clock := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(clock, make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	o := simulated(t).tidy(t, world+`
host { dead_ports yes }
process 710 { name short; uniqueid 7100; exit 1.5
  image "/bin/short" uuid 0e0e0e0e-0000-0000-0000-000000000001 load 0x104000000 size 0x4000 { symbol _main 0x1000 }
  image "/opt/late.dylib" uuid 0e0e0e0e-0000-0000-0000-000000000002 load 0x105000000 size 0x4000 at 1 updating 0.1 { symbol _late 0x100 }
  thread 0x751 { state 1; stack main+4; at 1 stack late+4 main+8 }
  thread 0x752 { state 1; stack main+12; exit 1 } }
process 711 { name before; uniqueid 7110; exec at 2 { name after }
  thread 0x761 { stack 0x10 } }
fail task_threads 0x10000003 pid 711 from 2 count 1
`, ends+";"+becomes, "--clock", clock)
	p := o.part(t, ends)
	rounds := p.statistic(t, "rounds")
	if strings.Contains(p.text, "error") || p.statistic(t, "gone") == 0 || p.statistic(t, "failed") > 0 || rounds > 400 {
		t.Errorf("a process that ends:\n%s", p.text)
	}
	one, other := p.stacks["710/7100/short/751"], p.stacks["710/7100/short/752"]
	if one["||0||0|main@short+1004"] == 0 || one["||0||0|late@late.dylib+104 main@short+1008"] == 0 || other["||0||0|main@short+100c"] == 0 {
		t.Errorf("%v\n%v", one, other)
	}
	// A program's task before exec is not its task afterwards.
	p = o.part(t, becomes)
	if len(p.stacks["711/7110/after/761"]) != 1 || p.statistic(t, "tasks") != 2 || p.statistic(t, "gone") > 0 {
		t.Errorf("a process that becomes another program:\n%s", p.text)
	}
}

// Each call fails once or twice during a session.
func TestCallsFail(t *testing.T) {
	t.Parallel()
	scenario := frozen + "fail task_read_for_pid EINVAL count 1\n"
	for i, call := range strings.Fields("task_threads task_info thread_info thread_get_state mach_vm_read_overwrite task_suspend2 task_resume2") {
		scenario += fmt.Sprintf("fail %s 5 pid 700 skip %d count 2\n", call, 30+7*i)
	}
	scenario += "fail stack_snapshot_with_config EBUSY skip 1 count 1\nfail stack_snapshot_with_config ETIMEDOUT count 1\n"
	const app, protected = "sample 700 1m 300 1080", "sample 1 2s 2"
	o := simulated(t).tidy(t, scenario, app+";"+protected)
	p := o.part(t, app)
	// If reading registers fails, one sample is lost. If a suspension or its end fails,
	// those of the three running threads are lost.
	if f := p.statistic(t, "failed"); f < 4 || f > 2+6+6 && o.longest() < patience/4 || !strings.Contains(p.text, "KERN_") || p.statistic(t, "tasks") != 2 {
		t.Errorf("%d failed:\n%s", f, p.text)
	}
	p.always(t, "700/7000/app/716", "||1||0|__psynch_cvwait@cache:libsystem_kernel.dylib+45d8 pthread_start@cache:libsystem_pthread.dylib+7010 thread_start@cache:libsystem_pthread.dylib+2008")
	// A stackshot that fails is left out, and the next one is taken.
	p = o.part(t, protected)
	if p.statistic(t, "failed") != 1 || p.statistic(t, "samples") != 3 || !strings.Contains(p.text, "why stack_snapshot_with_config: resource busy") {
		t.Errorf("stackshots that fail:\n%s", p.text)
	}
}

// If a read hangs, the process stays suspended only until the guard's patience ends.
func TestSuspensionsEnd(t *testing.T) {
	t.Parallel()
	o := simulated(t).tidy(t, frozen+`
process 703 { name alone; thread 0x771 { state 1; stack 0x10 0x20 } }
delay mach_vm_read_overwrite 2000000 pid 703
`, "sample 703 100ms 1")
	if !strings.Contains(o.out, "failed 1") || !strings.Contains(o.out, "KERN_OPERATION_TIMED_OUT") {
		t.Errorf("a sample of a thread that ran:\n%s", o.out)
	}
	if d := o.longest(); d == 0 || d >= 2*time.Second {
		t.Errorf("suspended for %v:\n%s", d, o.report)
	}
}

// A user without the rights gets an error that says so.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	o := simulated(t).tidy(t, frozen+"host { root no }\nself { as_uid 501 }\n", "sample 700 100ms 10;sample 0 100ms 10")
	for command, want := range map[string]string{
		"sample 700 100ms 10": "error process 700: its task is not to be had: the kernel refuses it (task_read_for_pid: operation not permitted); and without it: only root may see the stacks of all processes: stack_snapshot_with_config: operation not permitted",
		"sample 0 100ms 10":   "error only root may see the stacks of all processes: stack_snapshot_with_config: operation not permitted",
	} {
		if p := o.part(t, command); !strings.Contains(p.text+"\n", want+"\n") {
			t.Errorf("%s:\n%s, want\n%s", command, p.text, want)
		}
	}
}

// The cost of sampling a process with 50 threads, four of which run, on both processors, and all
// of 300 processes. The simulated Mac defines how long calls take. On Intel's processor each
// function on a stack is looked up in the unwind information during a suspension.
func TestCost(t *testing.T) {
	if os.Getenv("TACHO_LONG") == "" {
		t.Skip("samples for many seconds: set TACHO_LONG=1")
	}
	m := simulated(t)
	var usual, chain, many strings.Builder
	usual.WriteString("process 720 { name usual\n image \"/bin/usual\" load 0x104000000 size 0x40000 {")
	for i := range 30 {
		fmt.Fprintf(&usual, " symbol _f%d %#x unwind 0x01000000;", i, 0x1000+i*0x100)
		fmt.Fprintf(&chain, " f%d+4", i)
	}
	usual.WriteString(" }\n")
	for i := range 50 {
		state := ""
		if i < 4 {
			state = "state 1; "
		}
		fmt.Fprintf(&usual, " thread %#x { %sstack%s }\n", 0x900+i, state, chain.String())
	}
	usual.WriteString("}\n")
	for i := range 300 {
		fmt.Fprintf(&many, "process %d { name other%[1]d\n image \"/bin/other\" load 0x104000000 size 0x4000 { symbol _main 0x1000 }\n image \"*\"\n", 1000+i)
		for j := range 10 {
			fmt.Fprintf(&many, " thread %#x { stack mach_msg2_trap+8 %s; kstack 0xfffffe0007b00000 0xfffffe0007b00100 }\n", 0x10000+i*16+j, strings.Repeat("main+4 ", 25))
		}
		many.WriteString("}\n")
	}
	const one, all = "measure 720 10s 99", "measure 0 10s 2"
	for _, c := range []struct {
		name, scenario, command string

		each   int // nanoseconds of processor time that a sample may take
		median int // of a suspension
	}{
		{"Apple silicon", frozen + usual.String() + many.String(), one, 60_000, 50_000},
		{"Intel", intel + usual.String(), one, 60_000, 50_000},
		{"all processes", frozen + usual.String() + many.String(), all, 30_000, 3_000_000},
	} {
		if c.name == "Intel" && m.Emulated() {
			continue // there are no programs for Apple silicon on it
		}
		o := m.tidy(t, c.scenario, c.command)
		_, text, _ := strings.Cut(o.out, c.command+"\n")
		var samples, frames, suspensions, each, median, longest int
		if _, err := fmt.Sscanf(text, "measured %d samples %d frames %d suspensions %d ns each %d median %d longest", &samples, &frames, &suspensions, &each, &median, &longest); err != nil {
			t.Fatalf("%v:\n%s", err, o.out)
		}
		t.Logf("%s: %d samples of %d frames, %d ns of processor time each; %d suspensions, half of them below %d ns, the longest %d ns", c.name, samples, frames/max(samples, 1), each, suspensions, median, longest)
		if !m.Emulated() && (each > c.each || median > c.median) {
			t.Errorf("%s: a sample took %d ns, a suspension %d ns", c.name, each, median)
		}
	}
}
