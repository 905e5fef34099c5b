package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// rarer are metrics that many machines have, and what they do while all is well.
const rarer = `metric kernel.all.cpu.steal u64 counter - fast millisec
metric kernel.all.nthreads u32 instant - polled
metric proc.runq.blocked u32 instant - process count
metric proc.runq.stopped u32 instant - process count
metric proc.runq.defunct u32 instant - process count
metric proc.psinfo.threads u32 instant process process
metric vfs.files.count u64 instant - polled
metric vfs.files.max u64 discrete - polled
metric filesys.usedfiles u64 instant filesys polled
metric filesys.maxfiles u64 instant filesys polled
metric network.interface.in.drops u64 counter interface fast count
metric network.interface.out.drops u64 counter interface fast count
metric network.tcp.retranssegs u64 counter - fast count
metric network.tcp.outsegs u64 counter - fast count
metric disk.dev.total_rawactive u64 counter disk fast millisec
metric swap.used u64 instant - fast byte
metric swap.length u64 instant - fast byte
metric hinv.cpu.clock f32 instant cpu polled
metric thermal.package f32 instant - polled C
metric gpu.util u32 instant gpu polled percent
metric power.battery.charge u32 instant - polled percent
metric power.ac.connected u32 instant - polled
metric kern.memorystatus_vm_pressure_level u32 instant - polled
metric mem.util.compressed u64 instant - fast Kbyte
metric cgroup.cpusched.periods u64 counter cgroup process
metric cgroup.cpusched.throttled u64 counter cgroup process
instance cgroup /web.service /web.service
instance cpu cpu0 cpu0
instance gpu gpu0 gpu0`

var ordinary = append(slices.Clone(quiet), []does{
	{"fast", "1s", "kernel.all.cpu.steal", "rate=0"}, {"polled", "10s", "kernel.all.nthreads", "level=300"},
	{"process", "5s", "proc.runq.blocked", "0"}, {"process", "5s", "proc.runq.stopped", "0"}, {"process", "5s", "proc.runq.defunct", "0"},
	{"process", "5s", "proc.psinfo.threads[70]", "4"}, {"polled", "10s", "vfs.files.count", "level=2000 noise=0.05"}, {"polled", "10s", "vfs.files.max", "10000"},
	{"polled", "10s", "filesys.usedfiles[/]", "level=200000"}, {"polled", "10s", "filesys.maxfiles[/]", "1000000"},
	{"fast", "1s", "network.interface.in.drops[eth0]", "rate=0"}, {"fast", "1s", "network.interface.out.drops[eth0]", "rate=0"},
	{"fast", "1s", "network.tcp.retranssegs", "rate=0.1"}, {"fast", "1s", "network.tcp.outsegs", "rate=300 noise=0.3"},
	{"fast", "1s", "disk.dev.total_rawactive[sda]", "rate=20 noise=0.4"}, {"fast", "1s", "swap.used", "level=100000000"}, {"fast", "1s", "swap.length", "2000000000"},
	{"polled", "10s", "hinv.cpu.clock[cpu0]", "level=3600"}, {"polled", "10s", "thermal.package", "level=45"}, {"polled", "10s", "gpu.util[gpu0]", "level=4"},
	{"process", "5s", "cgroup.cpusched.periods[/web.service]", "rate=10"}, {"process", "5s", "cgroup.cpusched.throttled[/web.service]", "rate=0.5"},
	{"polled", "10s", "power.battery.charge", "level=80"}, {"polled", "10s", "power.ac.connected", "1"},
	{"polled", "10s", "kern.memorystatus_vm_pressure_level", "1"}, {"fast", "1s", "mem.util.compressed", "level=400000"}, {"costly", "1m", "proc.fd.limit[70]", "20000"},
}...)

// Trouble that machines seldom have comes first, however it is asked for.
func TestSeldomTrouble(t *testing.T) {
	const kernelTask = "instance process 99 000099 kernel_task pid=0 start=2026-11-20T02:00:00Z uid=0"
	for _, c := range []struct {
		name    string
		trouble map[string]string
		more    []string
		kind    string
		says    []string
	}{
		{"file descriptors used up", map[string]string{"vfs.files.count": "level=9900", "proc.fd.count[70]": "level=7800"}, nil, "growth", []string{"worker (pid 70) came to hold 7800 open files", "open files at 99 % of the limit"}},
		{"a limit of open files reached", map[string]string{"proc.fd.count[70]": "level=1020", "proc.fd.limit[70]": "1024"}, nil, "growth", []string{"worker (pid 70) came to hold 1020 open files", "and may hold 1024"}},
		{"too many threads", map[string]string{"kernel.all.nthreads": "level=12000", "proc.psinfo.threads[70]": "11700"}, nil, "growth", []string{"worker (pid 70)", "threads", "12000 threads at once"}},
		{"zombies", map[string]string{"proc.runq.defunct": "level=400"}, nil, "zombies", []string{"400 processes had ended and nobody took note of it (zombies)"}},
		{"inodes", map[string]string{"filesys.usedfiles[/]": "level=990000 drift=70"}, nil, "volume", []string{"volume /, in numbers of files (inodes), filled up"}},
		{"packets lost", map[string]string{"network.interface.in.drops[eth0]": "rate=300", "network.tcp.retranssegs": "rate=60"}, nil, "network", []string{"network eth0", "300 a second were dropped", "of TCP sent again"}},
		{"packets lost farther away", map[string]string{"network.tcp.retranssegs": "rate=60"}, nil, "tcp.resent", []string{" % of what TCP sent had to be sent again"}},
		{"steal", map[string]string{"kernel.all.cpu.steal": "rate=900", "kernel.all.cpu.user": "rate=1000"}, nil, "cpu.steal", []string{"gave away 45 % of its processor time"}},
		{"slow disk", map[string]string{"disk.dev.total_rawactive[sda]": "rate=9600", "disk.dev.avactive[sda]": "rate=950"}, nil, "slow disk", []string{"disk sda took ", " for a request", "95 % busy"}},
		{"stuck in the kernel", map[string]string{"proc.runq.blocked": "1", "proc.psinfo.sname[70]": `"D"`}, nil, "stuck", []string{"worker (pid 70) hung in the kernel"}},
		{"stopped", map[string]string{"proc.runq.stopped": "1", "proc.psinfo.sname[70]": `"T"`, "proc.psinfo.utime[70]": "rate=0", "proc.psinfo.stime[70]": "rate=0"}, nil, "stopped", []string{"worker (pid 70) was stopped", "SIGSTOP"}},
		{"held back without heat", map[string]string{"hinv.cpu.clock[cpu0]": "level=800", "kernel.all.cpu.user": "rate=1700"}, nil, "clock speed", []string{"800 MHz of 3600 MHz", "not for heat (at most 45"}},
		{"a quota", map[string]string{"cgroup.cpusched.throttled[/web.service]": "rate=9"}, nil, "held back", []string{"control group /web.service was held back: its quota was used up in 90 % of its periods"}},
		{"jetsam", map[string]string{"kern.memorystatus_vm_pressure_level": "4"}, []string{
			"event 690s process exit | tab ended: signal 9 | indom=process key=e1 pid=4000 name=tab parent=1 how=signal_9 cause=memory_pressure"}, "death", []string{"tab (pid 4000)", "ended by the kernel: memory pressure"}},
		{"compressor", map[string]string{"mem.util.compressed": "level=9000000", "kern.memorystatus_vm_pressure_level": "4"}, nil, "memory.level", []string{"pressure level 4"}},
		{"swap space", map[string]string{"swap.used": "level=1990000000"}, nil, "swap.full", []string{"100 % of the swap space was in use"}},
		{"graphics", map[string]string{"gpu.util[gpu0]": "level=98"}, nil, "gpu", []string{"the graphics processor was 98 % busy"}},
		{"battery", map[string]string{"power.battery.charge": "level=9 drift=-0.03", "power.ac.connected": "0"}, nil, "battery", []string{"the battery was nearly empty"}},
		{"the kernel cools", map[string]string{"thermal.pressure.level": "3", "kernel.all.cpu.sys": "rate=1600", "proc.psinfo.utime[99]": "rate=1000000", "proc.psinfo.stime[99]": "rate=1500000000",
			"proc.memory.rss[99]": "level=4000"}, []string{kernelTask}, "thermal", []string{"throttled itself against heat", "kernel_task (pid 0", "so that they cool"}},
		{"recorder saves", nil, []string{"event 690s budget | process: read every 10s instead of 5s: the recorder used 3.1 % of a core"}, "budget", []string{"read every 10s instead of 5s"}},
		{"a trigger", nil, []string{"event 690s trigger | hang: recorder.stall > 5s, last 7 s; stacks are sampled for 2s | trigger=hang"}, "trigger", []string{"hang: recorder.stall > 5s, last 7 s; stacks are sampled"}},
		{"interface went away", nil, []string{"event 690s device | network interface eth0 went away"}, "device", []string{"network interface eth0 went away"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := recording(t, ordinary, c.trouble, append(strings.Split(rarer, "\n"), c.more...)...)
			for how, r := range map[string]Request{"window": {Window: window}, "at": {At: minute(11.6)}, "all": {}} {
				answer := ask(t, a, r)
				first := answer.Lines[0]
				if !answer.Found || first.Kind != c.kind {
					t.Errorf("%s: found %v, %+v", how, answer.Found, answer.Lines)
					continue
				}
				for _, says := range c.says {
					if !strings.Contains(first.Text, says) {
						t.Errorf("%s: no %q in %q", how, says, first.Text)
					}
				}
			}
		})
	}
	answer := ask(t, recording(t, ordinary, nil, strings.Split(rarer, "\n")...), Request{Window: window})
	if answer.Found {
		t.Errorf("nothing happened: %+v", answer.Lines)
	}
}

// A process that leaks over hours is found in the whole recording of them.
func TestSlowLeak(t *testing.T) {
	var b strings.Builder
	b.WriteString(strings.NewReplacer("interval fast 1s", "interval fast 10s", "interval process 5s", "interval process 1m").Replace(host))
	for _, class := range []string{"fast", "process"} {
		step := map[string]string{"fast": "10s", "process": "1m"}[class]
		fmt.Fprintf(&b, "every %s 0s 8h %s\n", step, class)
		for _, q := range quiet {
			form := q.form
			switch q.metric {
			case "proc.memory.rss[70]":
				form = "level=300000 drift=150" // 4.3 GB in eight hours
			case "mem.util.available":
				form = "level=12000000 drift=-150"
			}
			if q.class == class {
				fmt.Fprintf(&b, "  %s %s\n", q.metric, form)
			}
		}
	}
	parts, err := querytest.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	for how, r := range map[string]Request{"window": {Window: query.Window{From: minute(0), To: minute(480)}}} {
		answer := ask(t, a, r)
		if first := answer.Lines[0]; first.Kind != "memory" || !strings.Contains(first.Text, "worker (pid 70") {
			t.Errorf("%s: %+v", how, answer.Lines)
		}
	}
}

// What ordinary work takes and gives back is nothing, and what one process does to
// the network and the processors is one line.
func TestOrdinaryWork(t *testing.T) {
	const worker = "instance process 99 000099 linker pid=99 parent=1 start=2026-11-20T03:10:00Z uid=0"
	for _, c := range []struct {
		name    string
		trouble map[string]string
		more    []string
	}{
		{"memory given back", map[string]string{"proc.psinfo.utime[99]": "rate=20000000", "proc.psinfo.stime[99]": "rate=1000000", "proc.memory.rss[99]": "level=800000"},
			[]string{worker, "event 781s process exit | linker ended: exit 0 | indom=process key=99 pid=99 name=linker parent=1 how=exit_0"}},
		{"some hundred open files", map[string]string{"proc.fd.count[70]": "level=709"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if answer := ask(t, archive(t, c.trouble, c.more...), Request{Window: window}); answer.Found {
				t.Errorf("%+v", answer.Lines)
			}
		})
	}
	a := archive(t, map[string]string{"network.interface.in.packets[eth0]": "rate=90000", "kernel.all.cpu.user": "rate=1200 noise=0.1",
		"proc.psinfo.utime[99]": "rate=980000000", "proc.psinfo.stime[99]": "rate=1000000", "proc.memory.rss[99]": "level=4000"}, looper)
	answer := ask(t, a, Request{Window: window})
	if first := answer.Lines[0].Text; len(answer.Lines) != 1 || !strings.Contains(first, "most likely looper (pid 99") || !strings.Contains(first, "which used 98 % of a core") {
		t.Errorf("%+v", answer.Lines)
	}
}
