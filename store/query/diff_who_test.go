package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// smallMachine is what scripts are made of: the metrics of a small Linux machine, and three
// processes.
const smallMachine = `start 2026-11-20T03:00:00Z
host box
interval fast 5s
interval polled 5s
interval process 5s
interval costly 60s
interval constrained 10m
metric kernel.all.nthreads u32 instant - fast
metric kernel.all.load f32 instant load fast
metric kernel.all.pressure.io.some.avg f32 instant load fast
metric kernel.all.pressure.io.some.total u64 counter - fast microsec
metric kernel.all.pswitch u64 counter - fast count
metric hinv.ncpu u32 discrete - constrained
metric mem.physmem u64 discrete - constrained Kbyte
metric mem.util.available u64 instant - fast Kbyte
metric mem.util.cached u64 instant - fast Kbyte
metric mem.util.slab u64 instant - fast Kbyte
metric network.all.in.bytes u64 counter - fast byte
metric network.interface.in.bytes u64 counter interface fast byte
metric network.interface.running u32 instant interface polled
metric network.tcpconn.close_wait u32 instant - polled
metric disk.all.write u64 counter - fast count
metric disk.dev.total u64 counter disk fast count
metric disk.dev.inflight u64 instant disk fast count
metric disk.dev.total_read_time u64 counter disk fast millisec
metric disk.dev.total_write_time u64 counter disk fast millisec
metric proc.runq.stopped i32 instant - process count
metric proc.runq.defunct i32 instant - process count
metric proc.started u64 counter - process count
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.psinfo.threads u32 instant process process
metric proc.psinfo.sname string discrete process process
metric proc.psinfo.delayacct_blkio_time u64 counter process process millisec
metric proc.net.tcp_count u32 instant process costly
instance load 15 15 minute
instance interface eth0 eth0
instance interface lo lo
instance disk sda sda
instance disk sdb sdb
instance process 1/1 000001 init pid=1
instance process 20/1 000020 server pid=20 parent=1/1
instance process 30/1 000030 worker pid=30 parent=20/1
instance process 31/1 000031 worker pid=31 parent=20/1
instance process 40/1 000040 script pid=40 parent=1/1 start=2026-11-20T02:59:00Z
boot b1 -10h
tick constrained 0s
  hinv.ncpu 4
  mem.physmem 16000000
`

// twoHours has a machine do one thing for twenty minutes and then another for ten, and
// compares the ten minutes before with the ten after.
func twoHours(t *testing.T, before, after, between string, to int64) []*query.Change {
	t.Helper()
	block := func(from, to int, rows string) string {
		var b strings.Builder
		for _, class := range []string{"fast", "polled", "process", "costly"} {
			step := map[string]string{"costly": "60s"}[class]
			if step == "" {
				step = "5s"
			}
			var list []string
			for _, row := range strings.Split(rows, ";") {
				if row = strings.TrimSpace(row); row != "" && classOf(row) == class {
					list = append(list, "  "+row)
				}
			}
			if list != nil {
				fmt.Fprintf(&b, "every %s %ds %ds %s\n%s\n", step, from, to, class, strings.Join(list, "\n"))
			}
		}
		return b.String()
	}
	script := smallMachine + block(0, 1200, before) + between + block(1205, 1805, after)
	parts, err := querytest.Parse(strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC).UnixNano()
	wall := func(s int64) int64 { return start + s*second }
	list, err := query.Diff(querytest.New(parts...), query.DiffRequest{Host: "box", A: query.Window{From: wall(600), To: wall(1200)}, B: query.Window{From: wall(1200), To: wall(to)}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// classOf is the class of the metric that a row is of.
func classOf(row string) string {
	name := strings.FieldsFunc(row, func(r rune) bool { return r == ' ' || r == '[' })[0]
	for _, line := range strings.Split(smallMachine, "\n") {
		if f := strings.Fields(line); len(f) > 5 && f[0] == "metric" && f[1] == name {
			return f[5]
		} else if len(f) == 6 && f[1] == name {
			return f[5]
		}
	}
	return ""
}

const three = `proc.psinfo.utime[1/1] rate=10; proc.psinfo.utime[20/1] rate=50; proc.psinfo.utime[30/1] rate=20;`

// TestDiffSaysWho has something change on a machine: the first line says what, and of which
// part of it or by whom.
func TestDiffSaysWho(t *testing.T) {
	const still = three + `proc.psinfo.sname[1/1] "S"; proc.psinfo.sname[20/1] "S"; proc.psinfo.sname[30/1] "S"; `
	for _, c := range []struct {
		name, before, after, between string
		subject, instance            string
		by, parent, aspect           string
	}{
		{name: "an interface takes most of what comes in",
			before: "network.all.in.bytes rate=1000; network.interface.in.bytes[eth0] rate=1000; network.interface.in.bytes[lo] rate=50",
			after:  "network.all.in.bytes rate=9e6; network.interface.in.bytes[eth0] rate=9e6; network.interface.in.bytes[lo] rate=50", subject: "network.interface.in.bytes", instance: "eth0"},
		{name: "a link goes down", before: "network.interface.running[eth0] 1; network.interface.running[lo] 1", after: "network.interface.running[eth0] 0; network.interface.running[lo] 1",
			subject: "network.interface.running", instance: "eth0"},
		{name: "a process has most of the threads", before: three + "kernel.all.nthreads 300; proc.psinfo.threads[20/1] 4; proc.psinfo.threads[30/1] 8",
			after: three + "kernel.all.nthreads 1300; proc.psinfo.threads[20/1] 1004; proc.psinfo.threads[30/1] 8", subject: "kernel.all.nthreads", by: "server"},
		{name: "a process has most of the sockets", before: three + "network.tcpconn.close_wait 0; proc.net.tcp_count[20/1] 4; proc.net.tcp_count[30/1] 8",
			after: three + "network.tcpconn.close_wait 900; proc.net.tcp_count[20/1] 904; proc.net.tcp_count[30/1] 9", subject: "network.tcpconn.close_wait", by: "server"},
		{name: "a process is stopped", before: still + "proc.runq.stopped 0", after: still + `proc.psinfo.sname[20/1] "T"; proc.runq.stopped 1`, subject: "proc.runq.stopped", by: "server"},
		{name: "a parent takes no note of its children", before: still + `proc.runq.defunct 0`,
			after: still + `proc.psinfo.sname[30/1] "Z"; proc.psinfo.sname[31/1] "Z"; proc.runq.defunct 200`, subject: "proc.runq.defunct"},
		{name: "a process waits for disks", before: three + "disk.all.write rate=10; proc.psinfo.delayacct_blkio_time[20/1] rate=1; proc.psinfo.delayacct_blkio_time[30/1] rate=1",
			after: three + "disk.all.write rate=2000; proc.psinfo.delayacct_blkio_time[20/1] rate=900; proc.psinfo.delayacct_blkio_time[30/1] rate=1", subject: "disk.all.write", by: "server"},
		{name: "a disk is slow", before: "disk.dev.total[sda] rate=50; disk.dev.total_read_time[sda] rate=100; disk.dev.total_write_time[sda] rate=0; disk.dev.total[sdb] rate=50; disk.dev.total_read_time[sdb] rate=100; disk.dev.total_write_time[sdb] rate=0",
			after:   "disk.dev.total[sda] rate=50; disk.dev.total_read_time[sda] rate=100; disk.dev.total_write_time[sda] rate=0; disk.dev.total[sdb] rate=20; disk.dev.total_read_time[sdb] rate=2000; disk.dev.total_write_time[sdb] rate=0",
			subject: "disk.dev.await", instance: "sdb"},
		{name: "a disk hangs", before: three + "disk.dev.total[sdb] rate=50; disk.dev.inflight[sdb] 1; kernel.all.pressure.io.some.total rate=1e4", after: three + "disk.dev.total[sdb] rate=0; disk.dev.inflight[sdb] 7; kernel.all.pressure.io.some.total rate=9e5",
			subject: "disk.dev.inflight", instance: "sdb", aspect: query.Hung},
		{name: "the kernel holds memory", before: "mem.util.available 9000000; mem.util.slab 200000", after: "mem.util.available 5000000; mem.util.slab 4200000", subject: "mem.util.slab"},
		{name: "many of a name begin", before: three + "proc.started rate=1", after: three + "proc.started rate=200", between: exitsOf("builder", 11400), subject: "proc.started", by: "builder"},
		{name: "a service fails again and again", before: three, after: three, between: crashes("api", "signal_11", 30), subject: "api", aspect: query.EndsBadly},
		{name: "the clock is set", before: three, after: three, between: "event 1202s clock step | the clock was set forward by 1h\n", subject: "clock step"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := twoHours(t, c.before, c.after, c.between, 1800)
			if len(list) == 0 {
				t.Fatal("no line")
			}
			if first := list[0]; first.Subject != c.subject || first.Instance != c.instance || first.Aspect != c.aspect && c.aspect != "" {
				t.Errorf("want %s %s %s, got%s", c.subject, c.instance, c.aspect, told(list))
			}
			if by := list[0].By; c.by != "" && (by == nil || by.Name != c.by) {
				t.Errorf("by %v, want %s", by, c.by)
			}
		})
	}
}

// exitsOf tells that so many processes of a name ended, and well.
func exitsOf(name string, n int) string {
	return fmt.Sprintf("event 1750s process exits | many ended | name=%s count=%d failed=0\n", name, n)
}

// crashes are ends of processes of a name, ten seconds apart, after half a second each.
func crashes(name, how string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "event %ds process exit | it ended | name=%s how=%s start=2026-11-20T03:%02d:%02d.500Z\n", 1210+10*i, name, how, (1210+10*i-1)/60, (1210+10*i-1)%60)
	}
	return b.String()
}

// TestDiffIsNoLine has something differ that is nothing: no line says that it does.
func TestDiffIsNoLine(t *testing.T) {
	for _, c := range []struct {
		name, before, after, between string
		to                           int64
	}{
		{name: "a mean over longer than the window", before: "kernel.all.load[15] level=0.6 noise=0.01", after: "kernel.all.load[15] level=1.8 noise=0.01"},
		{name: "a mean of what is counted", before: "kernel.all.pressure.io.some.total rate=1000; kernel.all.pressure.io.some.avg[15] 0", after: "kernel.all.pressure.io.some.total rate=1000; kernel.all.pressure.io.some.avg[15] 0.01"},
		{name: "files are kept in memory", before: "mem.util.available 9000000; mem.util.cached 2000000", after: "mem.util.available 8990000; mem.util.cached 6000000"},
		{name: "a script polls", before: three + "proc.started rate=0", after: three + "proc.started rate=10"},
		{name: "a script asks until the answer is yes", before: three, after: three, between: answers("grep", 60)},
		{name: "the clock is set by an hour while nothing else changes", before: three + "proc.memory.rss[20/1] 4000000", after: three + "proc.memory.rss[20/1] 4000000", between: "clock 1h\n", to: 1800 + 3600},
		{name: "a shell ends that began a while ago", before: three + "proc.psinfo.utime[40/1] rate=1; proc.memory.rss[40/1] 3000", after: three, between: "event 1203s process exit | it ended | indom=process key=40/1 name=script how=exit_0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := c.to
			if to == 0 {
				to = 1800
			}
			if list := twoHours(t, c.before, c.after, c.between, to); len(list) > 0 {
				t.Errorf("lines:%s", told(list))
			}
		})
	}
}

// TestDiffCountsSeconds sets the clock forward in the second window: what processes use is
// told by the time that went by, not by what the wall clock shows.
func TestDiffCountsSeconds(t *testing.T) {
	const before = three + "kernel.all.nthreads 300"
	list := twoHours(t, before, strings.Replace(before, "rate=50", "rate=2000", 1), "clock 100s\n", 1900)
	if len(list) != 1 || list[0].Subject != "server" || list[0].After < 1.9 || list[0].After > 2.1 {
		t.Errorf("want 2 cores of server, got%s", told(list))
	}
}

// answers are ends of a command that says no at once.
func answers(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "event %ds process exit | it ended | name=%s how=exit_1 start=2026-11-20T03:%02d:%02d.990Z\n", 1210+5*i, name, (1210+5*i-1)/60, (1210+5*i-1)%60)
	}
	return b.String()
}
