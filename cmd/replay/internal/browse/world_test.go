package browse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query/querytest"
)

// dawn is when the recording of the Linux machine begins.
var dawn = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// at is so long after dawn.
func at(d time.Duration) int64 { return dawn.Add(d).UnixNano() }

const (
	hostile = "\x1b]0;pwned\x07evil\u202e\nname"
	wide    = "数据库服务"
	combine = "cafe\u0301"
)

// member is a process of the Linux machine; its numbers are the same all its life.
type member struct {
	key, pid, parent int
	name, user       string
	from, to         time.Duration
	cpu, mb          int // thousandths of a core, and megabytes
	read, write      int // KB/s
}

var members = []member{
	{1, 1, 0, "systemd", "root", 0, 5 * time.Hour, 1, 12, 0, 2},
	{2, 210, 1, "nginx", "www-data", 0, 5 * time.Hour, 40, 80, 0, 30},
	{3, 211, 2, "nginx", "www-data", 0, 5 * time.Hour, 150, 95, 5, 60},
	{4, 300, 1, "postgres", "postgres", 0, 5 * time.Hour, 220, 900, 400, 900},
	{5, 301, 4, wide, "postgres", 0, 5 * time.Hour, 90, 350, 100, 20},
	{6, 400, 1, hostile, "nobody", 0, 5 * time.Hour, 3, 5, 0, 0},
	{7, 410, 1, combine, "anna", 0, 5 * time.Hour, 2, 7, 0, 0},
	{8, 900, 1, "backup", "root", 3 * time.Hour, 3*time.Hour + 20*time.Minute, 1900, 600, 50000, 90000},
	{9, 901, 8, "gzip", "root", 3 * time.Hour, 3*time.Hour + 10*time.Minute, 950, 20, 0, 40000},
}

// linuxText describes five hours of a Linux machine: two and a half quiet ones with a
// sleep in between, a backup whose child crashes, ten minutes without power, and a
// boot.
func linuxText() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("start %s", dawn.Format(time.RFC3339))
	line("host web-1 id=W1 os=Linux release=6.1 arch=x86_64 platform=linux")
	for _, s := range []string{
		"interval fast 10s", "interval polled 1m", "interval process 30s",
		"metric hinv.ncpu u32 discrete - static", "metric mem.physmem u64 discrete - static Kbyte",
		"metric kernel.all.cpu.user u64 counter - fast millisec", "metric kernel.all.cpu.sys u64 counter - fast millisec",
		"metric kernel.all.cpu.nice u64 counter - fast millisec", "metric kernel.all.cpu.idle u64 counter - fast millisec", "metric kernel.all.cpu.wait.total u64 counter - fast millisec",
		"metric kernel.percpu.cpu.user u64 counter cpu fast millisec", "metric kernel.percpu.cpu.sys u64 counter cpu fast millisec",
		"metric kernel.percpu.cpu.idle u64 counter cpu fast millisec",
		"metric kernel.all.load f32 instant load fast", "metric mem.util.used u64 instant - fast Kbyte",
		"metric mem.util.available u64 instant - fast Kbyte", "metric mem.util.cached u64 instant - fast Kbyte",
		"metric kernel.all.pressure.memory.some.total u64 counter - fast microsec",
		"metric disk.all.read_bytes u64 counter - fast Kbyte", "metric disk.all.write_bytes u64 counter - fast Kbyte",
		"metric disk.dev.read_bytes u64 counter disk fast Kbyte", "metric disk.dev.write_bytes u64 counter disk fast Kbyte",
		"metric network.all.in.bytes u64 counter - fast byte", "metric network.all.out.bytes u64 counter - fast byte",
		"metric network.interface.in.bytes u64 counter interface fast byte", "metric network.interface.out.bytes u64 counter interface fast byte",
		"metric filesys.used u64 instant filesys polled Kbyte", "metric filesys.capacity u64 instant filesys polled Kbyte",
		"metric thermal.cpu.die f32 instant - polled C",
		"metric proc.psinfo.utime u64 counter process process millisec", "metric proc.psinfo.stime u64 counter process process millisec",
		"metric proc.memory.rss u64 instant process process Kbyte", "metric proc.io.read_bytes u64 counter process process Kbyte",
		"metric proc.io.write_bytes u64 counter process process Kbyte", "metric proc.psinfo.threads u32 instant process process",
		"metric proc.psinfo.sname string discrete process process", "metric proc.psinfo.ppid u32 discrete process process",
		"metric proc.id.uid_nm string discrete process process",
		"instance load 1 1 minute", "instance load 5 5 minute", "instance load 15 15 minute",
		"instance disk vda vda", "instance interface eth0 eth0", "instance interface lo lo", "instance filesys / /", "instance filesys /srv /srv",
		"instance cpu 0 cpu0", "instance cpu 1 cpu1", "instance cpu 2 cpu2", "instance cpu 3 cpu3",
	} {
		line("%s", s)
	}
	for _, m := range members {
		parent := ""
		if m.parent > 0 {
			parent = fmt.Sprintf("parent=%d", m.parent)
		}
		// Names are words of a line: what would end it is put in below.
		name := strings.ReplaceAll(m.name, "\n", "\v")
		line("instance process %d %d %s pid=%d %s start=%s", m.key, m.key, name, m.pid, parent, dawn.Add(m.from-time.Second).Format(time.RFC3339))
	}
	line("boot b1 -3h")
	line("tick static 0s\n  hinv.ncpu 4\n  mem.physmem 8388608")
	part := func(from, to time.Duration) {
		line("every 10s %s %s fast", from, to)
		busy := from >= 3*time.Hour && from < 3*time.Hour+20*time.Minute
		user, idle, write, used := 600, 3300, 1000, 3000000
		if busy {
			user, idle, write, used = 3400, 480, 130000, 5200000
		}
		line("  kernel.all.cpu.user rate=%d noise=0.2\n  kernel.all.cpu.sys rate=100 noise=0.3\n  kernel.all.cpu.nice rate=0\n  kernel.all.cpu.idle rate=%d noise=0.01\n  kernel.all.cpu.wait.total rate=20 noise=0.9", user, idle)
		for i := range 4 {
			line("  kernel.percpu.cpu.user[%d] rate=%d noise=0.3\n  kernel.percpu.cpu.sys[%d] rate=25\n  kernel.percpu.cpu.idle[%d] rate=%d noise=0.01", i, user/4, i, i, idle/4)
		}
		line("  kernel.all.load[1] level=1.2 noise=0.1\n  kernel.all.load[5] level=1.1 noise=0.1\n  kernel.all.load[15] level=0.9 noise=0.1")
		line("  mem.util.used level=%d noise=0.01\n  mem.util.available level=%d noise=0.01\n  mem.util.cached level=1500000 noise=0.01", used, 8388608-used)
		line("  kernel.all.pressure.memory.some.total rate=%d noise=0.5", map[bool]int{true: 180000, false: 300}[busy])
		line("  disk.all.read_bytes rate=500 noise=0.9\n  disk.all.write_bytes rate=%d noise=0.3\n  disk.dev.read_bytes[vda] rate=500 noise=0.9\n  disk.dev.write_bytes[vda] rate=%d noise=0.3", write, write)
		line("  network.all.in.bytes rate=90000 noise=0.9\n  network.all.out.bytes rate=400000 noise=0.9")
		line("  network.interface.in.bytes[eth0] rate=90000 noise=0.9\n  network.interface.out.bytes[eth0] rate=400000 noise=0.9\n  network.interface.in.bytes[lo] rate=10\n  network.interface.out.bytes[lo] rate=10")
		line("every 1m %s %s polled", from, to)
		line("  filesys.used[/] level=30000000\n  filesys.capacity[/] level=41000000\n  filesys.used[/srv] level=98000000\n  filesys.capacity[/srv] level=100000000\n  thermal.cpu.die level=%d noise=0.02", 50+user/100)
		// A reading of processes for each time in which the same ones live.
		cuts := []time.Duration{from}
		for _, m := range members {
			for _, t := range []time.Duration{m.from, m.to} {
				if t > from && t < to {
					cuts = append(cuts, t)
				}
			}
		}
		cuts = append(cuts, to)
		for i := range len(cuts) - 1 {
			begin, end := cuts[i], cuts[i+1]-time.Second
			if begin >= end {
				continue
			}
			line("every 30s %s %s process", begin, end)
			for _, m := range members {
				if m.from > begin || m.to <= begin {
					continue
				}
				line("  proc.psinfo.utime[%d] rate=%d noise=0.05\n  proc.psinfo.stime[%d] rate=%d\n  proc.memory.rss[%d] level=%d", m.key, m.cpu, m.key, m.cpu/20, m.key, m.mb*1024)
				line("  proc.io.read_bytes[%d] rate=%d\n  proc.io.write_bytes[%d] rate=%d\n  proc.psinfo.threads[%d] level=%d", m.key, m.read, m.key, m.write, m.key, m.key)
				line("  proc.psinfo.sname[%d] \"S\"\n  proc.psinfo.ppid[%d] %d\n  proc.id.uid_nm[%d] \"%s\"", m.key, m.key, max(m.parent, 0), m.key, m.user)
			}
		}
	}
	line("event 0s recorder start | recorder 1.0 started")
	part(0, 90*time.Minute)
	line("event 1h30m5s sleep | the machine went to sleep")
	line("event 2h wake | the machine woke after 30 minutes | from=%s seconds=1795", dawn.Add(90*time.Minute+5*time.Second).Format(time.RFC3339))
	part(2*time.Hour, 3*time.Hour-10*time.Second)
	line("event 2h30m power source | on battery")
	part(3*time.Hour, 3*time.Hour+20*time.Minute-10*time.Second)
	line("event 3h5m memory pressure | memory pressure is high")
	line("event 3h10m process exit | gzip ended: signal 11 core | indom=process key=9 pid=901 name=gzip how=signal_11_core")
	line("event 3h20m process exit | backup ended: exit 2 | indom=process key=8 pid=900 name=backup how=exit_2")
	part(3*time.Hour+20*time.Minute, 4*time.Hour)
	line("event 4h shutdown | the machine shut down")
	line("boot b2 4h10m")
	line("event 4h10m boot | the machine started")
	line("tick static 4h10m5s\n  hinv.ncpu 4\n  mem.physmem 8388608")
	part(4*time.Hour+10*time.Minute+10*time.Second, 5*time.Hour)
	return b.String()
}

// linux opens the Linux machine's recording.
func linux(t testing.TB) Engine {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(linuxText()))
	if err != nil {
		t.Fatal(err)
	}
	// Kernels' loads have keys of two words, which descriptions cannot write.
	for _, p := range parts {
		for _, tick := range p.Ticks {
			for _, b := range tick.Blocks {
				for _, in := range b.Rows {
					if b.Group.Indom == "load" {
						in.Key = in.Name
					}
				}
			}
		}
	}
	r, err := moment.Open(querytest.New(parts...), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
