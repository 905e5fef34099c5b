package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// saidMetrics are those that what the system said is compared with, beside the ordinary ones.
const saidMetrics = rarer + `
metric filesys.readonly u32 discrete filesys polled
metric cgroup.memory.current u64 instant cgroup process byte
metric cgroup.memory.limit u64 instant cgroup costly byte
metric network.interface.in.bytes u64 counter interface fast byte
metric net.netfilter.nf_conntrack_count u32 instant - polled
metric net.netfilter.nf_conntrack_max u32 instant - polled
metric network.tcpconn.syn_recv u32 instant - polled
instance filesys /data /data device=/dev/sda1 type=ext4
instance process 80 000080 nginx pid=80 parent=1 start=2026-11-20T02:10:00Z uid=0`

var saidOrdinary = append(slices.Clone(ordinary), []does{
	{"polled", "10s", "filesys.readonly[/data]", "0"}, {"process", "5s", "cgroup.memory.current[/web.service]", "level=300000000"},
	{"costly", "1m", "cgroup.memory.limit[/web.service]", "2000000000"}, {"fast", "1s", "network.interface.in.bytes[eth0]", "rate=40000 noise=0.3"},
	{"polled", "10s", "net.netfilter.nf_conntrack_count", "level=900"}, {"polled", "10s", "net.netfilter.nf_conntrack_max", "65536"}, {"polled", "10s", "network.tcpconn.syn_recv", "0"},
	{"process", "5s", "proc.psinfo.utime[80]", "rate=20000000 noise=0.3"}, {"process", "5s", "proc.psinfo.stime[80]", "rate=5000000 noise=0.3"},
	{"process", "5s", "proc.memory.rss[80]", "level=250000"},
}...)

// Where the system itself named a cause, the first line has it: with the numbers that agree, or
// with less weight where they do not.
func TestSaid(t *testing.T) {
	const (
		kill     = "event 700s kill | the kernel ended looper (pid 99, 8.1 GB) for want of memory | rule=killed name=looper pid=99 bytes=8700000000"
		killed   = "event 700s process exit | looper ended: signal 9 | indom=process key=99 pid=99 name=looper parent=1 how=signal_9"
		disk     = "event 640s kernel | blk_update_request: I/O error, dev sda, sector 4711 | source=kernel rule=i/o_error topic=disk device=sda"
		hung     = "event 730s hang | worker (pid 70) did not go on for 120 s | rule=hung_task name=worker pid=70 seconds=120"
		thermal  = "event 610s kernel | CPU0: Package temperature above threshold, cpu clock throttled | rule=throttled topic=thermal device=CPU0"
		link     = "event 601s kernel | eth0: Link is Down | rule=down topic=link device=eth0"
		readonly = "event 606s kernel | EXT4-fs (sda1): Remounting filesystem read-only | rule=remounted topic=read-only device=sda1"
		crash    = "event 640s crash | nginx (pid 80) died of SIGSEGV in libssl.so.3+0x1139 | indom=process key=80 rule=segfault name=nginx pid=80 signal=SIGSEGV"
		failed   = "event 611s service failure | nginx.service failed: exit-code | rule=unit_failed unit=nginx.service result=exit-code"
		lockup   = "event 640s hang | BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:1:70] | rule=soft_lockup name=kworker/1:1 pid=70 device=CPU#1 seconds=22"
		full     = "event 640s kernel | nf_conntrack: table full, dropping packet | rule=connection_table_full topic=network"
		limit    = "event 700s limit | worker (pid 70) used 90 s of processor time in 120 s; the limit is 50 % | rule=cpu name=worker pid=70"
	)
	grows := map[string]string{"mem.util.available": "level=12000000 drift=-60000", "proc.psinfo.utime[99]": "rate=50000000", "proc.psinfo.stime[99]": "rate=1000000",
		"proc.memory.rss[99]": "level=10000 drift=60000"}
	requests := map[string]Request{"window": {Window: window}, "at": {At: minute(11.6)}, "all": {}}
	again := func(event string, n int) (list []string) {
		for range n {
			list = append(list, event)
		}
		return list
	}
	for _, c := range []struct {
		name    string
		trouble map[string]string
		more    []string
		kind    string
		says    []string
		against string // what it says where the numbers of an ordinary time contradict it; empty: no number can
	}{
		{"memory", grows, []string{looper, kill, killed}, "kill", []string{"kill at 03:11:40: the kernel ended looper", "the numbers agree: looper (pid 99", "of all memory"}, "of all memory was in use then"},
		{"a group's memory", map[string]string{"cgroup.memory.current[/web.service]": "level=1990000000"}, []string{kill + " group=/web.service"}, "kill",
			[]string{"the numbers agree: /web.service held 1.85 GB of its limit of 1.86 GB"}, "but /web.service held at most 286 MB of its limit"},
		{"disk", map[string]string{"disk.dev.inflight[sda]": "3", "disk.dev.total[sda]": "rate=0", "disk.dev.avactive[sda]": "rate=1000", "kernel.all.blocked": "2"},
			[]string{disk}, "kernel", []string{"disk error at 03:10:40: blk_update_request: I/O error, dev sda", "the numbers agree: disk sda hung: 3 requests under way"}, "but disk sda was at most "},
		{"hung task", map[string]string{"kernel.all.blocked": "2", "proc.runq.blocked": "1", "proc.psinfo.sname[70]": `"D"`}, []string{hung}, "hang",
			[]string{"hang at 03:12:10: worker (pid 70) did not go on for 120 s", "the numbers agree: "}, "but no process waited in the kernel then"},
		{"lockup", map[string]string{"kernel.all.cpu.sys": "rate=1050"}, []string{lockup}, "hang", []string{"soft lockup", "the numbers agree: the kernel took 5"}, "but the kernel itself took at most"},
		{"thermal", map[string]string{"hinv.cpu.clock[cpu0]": "level=800", "kernel.all.cpu.user": "rate=1700", "thermal.package": "level=99"}, []string{thermal}, "kernel",
			[]string{"throttling against heat at 03:10:10: CPU0: Package temperature above threshold", "the numbers agree: ", "800 MHz of 3600 MHz"}, "but the clock rate did not fall (3600 MHz)"},
		{"link", map[string]string{"network.interface.running[eth0]": "0", "network.interface.in.bytes[eth0]": "rate=0", "network.interface.in.packets[eth0]": "rate=0"}, []string{link}, "kernel",
			[]string{"network link at 03:10:01: eth0: Link is Down", "the numbers agree: ", "hardly anything came in over it from then on"}, "kept coming in over it"},
		{"read-only", map[string]string{"filesys.readonly[/data]": "1"}, []string{readonly}, "kernel", []string{"read-only file system at 03:10:06", "the numbers agree: /data is read-only"}, "but /data can still be written"},
		{"crash", nil, []string{crash, "event 640s process exit | nginx ended: signal 11 | indom=process key=80 pid=80 name=nginx parent=1 how=signal_11_core"}, "crash",
			[]string{"crash at 03:10:40: nginx (pid 80) died of SIGSEGV in libssl.so.3+0x1139", "the numbers agree: it ended by signal 11"}, ""},
		{"a program that runs on", nil, []string{crash}, "crash", []string{"but it ran on"}, ""},
		{"crash loop", nil, append(exits("nginx", "exit_3", 610, 4, 30), again(failed, 5)...), "service failure",
			[]string{"service failure at 03:10:11: nginx.service failed: exit-code (5 events of that kind)", "the numbers agree: nginx failed and was started again, over and over", "30 times"}, ""},
		{"a full table", map[string]string{"net.netfilter.nf_conntrack_count": "65536"}, []string{full}, "kernel", []string{"network error at 03:10:40", "the numbers agree: conntrack 100 % full"}, "but the table was at most 1.4 % full"},
		{"a limit", map[string]string{"kernel.all.cpu.user": "rate=1100 noise=0.1", "proc.psinfo.utime[70]": "rate=950000000"}, []string{limit}, "limit", []string{"limit at 03:11:40: worker (pid 70)", "the numbers agree: worker (pid 70"}, "but it used at most "},
		{"hardware", nil, []string{"event 640s kernel | mce: [Hardware Error]: Machine check events logged | rule=machine_check topic=hardware"}, "kernel", []string{"hardware error at 03:10:40"}, ""},
		{"graphics", map[string]string{"gpu.util[gpu0]": "level=98"}, []string{"event 640s kernel | amdgpu 0000:03:00.0: ring gfx timeout | rule=ring_timeout topic=graphics"}, "kernel",
			[]string{"graphics error at 03:10:40: amdgpu", "graphics processor 98 % busy"}, ""},
		{"kernel error", nil, []string{"event 640s kernel | BUG: unable to handle page fault | rule=oops topic=kernel_error"}, "kernel", []string{"kernel error at 03:10:40: BUG"}, ""},
		{"an error of no known kind", nil, []string{"event 640s kernel | something broke | rule=error topic=kernel"}, "kernel", []string{"kernel at 03:10:40: something broke"}, ""},
		{"reset", nil, []string{"event 640s forced reset | the machine was reset: watchdog | rule=reset"}, "forced reset", []string{"but the recording went on"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			weights := make(map[bool]float64)
			for _, contradicted := range []bool{false, true} {
				trouble, says := c.trouble, c.says
				if contradicted {
					if c.against == "" {
						continue
					}
					trouble, says = nil, []string{c.against}
				}
				more := slices.DeleteFunc(slices.Clone(c.more), func(line string) bool { return contradicted && (line == looper || line == killed) })
				a := recording(t, saidOrdinary, trouble, append(strings.Split(saidMetrics, "\n"), more...)...)
				for _, how := range []string{"window", "at", "all"} {
					answer := ask(t, a, requests[how])
					first := answer.Lines[0]
					if how == "at" && !answer.Found && weights[contradicted] < 0.5 {
						continue // What weighs little is nothing a minute later.
					}
					if !answer.Found || first.Kind != c.kind {
						t.Errorf("%s: found %v, %+v", how, answer.Found, answer.Lines)
						continue
					}
					for _, says := range says {
						if !strings.Contains(first.Text, says) {
							t.Errorf("%s: no %q in %q", how, says, first.Text)
						}
					}
					if how == "window" {
						weights[contradicted] = first.Weight
						if len(answer.Lines) > 1 {
							t.Errorf("more lines: %+v", answer.Lines[1:])
						}
						if c.against != "" && !contradicted && len(first.Claims) == 0 {
							t.Errorf("no claims: %s", first.Text)
						}
					}
				}
			}
			if c.against != "" && weights[true] > 0.75*weights[false] {
				t.Errorf("it weighs %v where the numbers agree, %v where they do not", weights[false], weights[true])
			}
		})
	}
}

// What the system says all the time is no line.
func TestSaidAllTheTime(t *testing.T) {
	var everyFew []string
	for at := 15; at < 1200; at += 40 {
		everyFew = append(everyFew, fmt.Sprintf("event %ds kernel | something broke | rule=error topic=kernel", at))
	}
	for _, c := range []struct {
		name string
		more []string
	}{
		{"a container's interface", []string{"event 640s kernel | veth12ab: Link is Down | rule=down topic=link device=veth12ab"}},
		{"a link that came up", []string{"event 640s kernel | eth0: Link is Up | rule=up topic=link device=eth0 result=good"}},
		{"a stick", []string{"event 640s kernel | usb 1-2: USB disconnect | rule=went topic=device device=1-2", "event 660s kernel | usb 1-2: new USB device | rule=came topic=device result=good"}},
		{"housekeeping", []string{"event 640s kill | the kernel ended helper (pid 12) | rule=jetsam name=helper pid=12 reason=idle-exit"}},
		{"software", []string{"event 640s software | nginx 1.26.3-1 → 1.28.0-1 (dpkg) | source=dpkg what=changed package=nginx was=1.26.3-1 is=1.28.0-1"}},
		{"an error all the time", everyFew},
	} {
		answer := ask(t, recording(t, saidOrdinary, nil, append(strings.Split(saidMetrics, "\n"), c.more...)...), Request{Window: window})
		if answer.Found {
			t.Errorf("%s: %+v", c.name, answer.Lines)
		}
	}
}

// A panic has its reason, and a reset is one line with the time in which the machine was off.
func TestResets(t *testing.T) {
	for _, c := range []struct{ event, kind, says, also string }{
		{"event 1319s panic | the boot before ended in a panic: Fatal exception in interrupt | source=pstore rule=panic", "panic", "the boot before ended in a panic: Fatal exception in interrupt", ""},
		{"event 1319s forced reset | the machine was reset: watchdog | source=report rule=reset", "forced reset", "the machine was reset: watchdog; the numbers agree: ", "off"},
	} {
		var b strings.Builder
		b.WriteString(host)
		for _, part := range []struct{ from, to, head string }{{"1s", "20m", ""}, {"22m1s", "30m", "boot boot-2 22m\nevent 22m boot | the machine was started\n" + c.event + "\nevent 22m1s recorder start | recorder started\n"}} {
			b.WriteString(part.head)
			for _, class := range [][2]string{{"fast", "1s"}, {"polled", "10s"}, {"process", "5s"}} {
				fmt.Fprintf(&b, "every %s %s %s %s\n", class[1], part.from, part.to, class[0])
				for _, d := range quiet {
					if d.class == class[0] {
						fmt.Fprintf(&b, "  %s %s\n", d.metric, d.form)
					}
				}
			}
		}
		parts, err := querytest.Parse(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		for how, r := range map[string]Request{"window": {Window: query.Window{From: minute(18), To: minute(25)}}, "at": {At: minute(21)}, "all": {}} {
			first := ask(t, querytest.New(parts...), r).Lines[0]
			if first.Kind != c.kind || !strings.Contains(first.Text, c.says) || !strings.Contains(first.Text, c.also) {
				t.Errorf("%s: %s: %s", how, first.Kind, first.Text)
			}
		}
	}
}

// Where the kernel ended another process than the one that grew, the one that grew is the cause.
func TestKilledForAnother(t *testing.T) {
	trouble := map[string]string{"mem.util.available": "level=12000000 drift=-60000", "proc.psinfo.utime[99]": "rate=50000000", "proc.psinfo.stime[99]": "rate=1000000",
		"proc.memory.rss[99]": "level=10000 drift=60000"}
	kill := "event 770s kill | the kernel ended worker (pid 70) for want of memory | rule=killed name=worker pid=70"
	answer := ask(t, recording(t, saidOrdinary, trouble, append(strings.Split(saidMetrics, "\n"), looper, kill)...), Request{Window: window})
	if first := answer.Lines[0]; first.Kind != "memory" || !strings.HasPrefix(first.Text, "looper (pid 99") || !strings.Contains(first.Text, "; the kernel ended worker (pid 70) for want of memory at 03:12:50") {
		t.Errorf("%+v", answer.Lines)
	}
}
