package clickhouse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/export/exporttest"
)

// simulated is a fleet of machines, told apart by what is wrong with them: every tenth has
// one trouble or another, and half are updated at midnight, after which their Indexer needs
// eight times the processor time.
type simulated struct {
	hosts     int
	step      time.Duration
	processes int
}

// Two days are recorded, and the questions are asked on the third.
var (
	fleetBegan = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	fleetToday = fleetBegan.AddDate(0, 0, 2)
)

// shortLives is how many processes of each day live for seconds; the i-th of them has ended
// so long after the fleet began.
const shortLives = 60

func shortLife(i int) time.Duration {
	return time.Duration(i/shortLives)*24*time.Hour + 12*time.Hour - 4*time.Minute + time.Duration(i%shortLives)*3*time.Second
}

// The troubles, by the last digit of a machine's number.
const (
	idleBuilder = iota
	busyBuilder
	ordinary
	slow
	hot
	swapping
	filling
	looping
	worn
	silent
)

// describe is the recording of one machine.
func (f *simulated) describe(n int) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	trouble := n % 10
	linux := n/10%3 == 1
	name, mine := fmt.Sprintf("mac-%05d", n), func(yes, no float64, of int) float64 {
		if trouble == of {
			return yes
		}
		return no
	}
	if trouble <= busyBuilder {
		name = fmt.Sprintf("build-%05d", n)
	}
	p("start %s", fleetBegan.Format(time.RFC3339))
	p("interval static 2562047h\ninterval polled %[1]s\ninterval fast %[1]s\ninterval process %[1]s", f.step)
	for _, m := range []string{
		"hinv.ncpu u32 discrete - static", "kernel.all.load f32 instant load fast",
		"kernel.all.cpu.user u64 counter - fast millisec", "kernel.all.cpu.sys u64 counter - fast millisec",
		"kernel.all.cpu.nice u64 counter - fast millisec", "kernel.all.cpu.idle u64 counter - fast millisec",
		"mem.util.used u64 instant - fast Kbyte", "swap.pagesout u64 counter - fast count",
		"filesys.full f64 discrete filesys polled percent",
		"thermal.cpu.die f32 instant - polled C", "thermal.pressure.level u32 instant - polled",
		"power.battery.health u32 instant - polled percent", "power.battery.cycle_count u32 instant - polled count",
		"kern.memorystatus_vm_pressure_level i32 instant - polled",
		"network.interface.in.bytes u64 counter interface fast byte",
	} {
		p("metric %s", m)
	}
	scale := 1e6 // of processor time, in nanoseconds; a Linux machine has milliseconds
	if linux {
		scale = 1
		p("metric proc.psinfo.utime u64 counter process process millisec\nmetric proc.psinfo.stime u64 counter process process millisec")
	} else {
		p("metric proc.psinfo.utime u64 counter process process nanosec\nmetric proc.psinfo.stime u64 counter process process nanosec")
	}
	for _, m := range []string{"proc.memory.rss u64 instant process process Kbyte", "proc.psinfo.threads u32 instant process process",
		"proc.io.write_bytes u64 counter process process byte", "proc.psinfo.sname string discrete process process"} {
		p("metric %s", m)
	}
	host := func(version string) {
		if linux {
			p("host %s id=%s os=Linux release=6.%s arch=amd64 platform=linux product=Debian zone=UTC", name, hostID(n), version)
		} else {
			p("host %s id=%s os=Darwin release=25.%s arch=arm64 platform=macos product=macOS_26.%s zone=UTC", name, hostID(n), version, version)
		}
		p("instance load 1m 1 minute\ninstance filesys / /\ninstance interface en0 en0")
		for i := range f.processes {
			p("instance process %d/1 %06d app-%02d user=u%d", 500+i, 500+i, i, i%3)
		}
		p("instance process 400/1 000400 Indexer user=root")
		for i := range 2 * shortLives {
			p("instance process %d/2 %06d brief-%d user=root start=%s", 9000+i, 9000+i, i%3, fleetBegan.Add(shortLife(i)-10*time.Second).Format(time.RFC3339))
		}
	}
	day := func(from, to time.Duration, indexer, passed float64) {
		p("tick static %s\n  hinv.ncpu 8", from)
		busy := 100 + 10*float64(n%7)
		if trouble == idleBuilder {
			busy = 20
		} else if trouble == busyBuilder || trouble == slow {
			busy = 7000
		}
		p("every %s %s %s fast", f.step, from, to)
		p("  kernel.all.load[1m] level=%g noise=0.2", mine(24, 1+float64(n%5), slow))
		p("  kernel.all.cpu.user rate=%g noise=0.1\n  kernel.all.cpu.sys rate=%g\n  kernel.all.cpu.nice 0\n  kernel.all.cpu.idle rate=%g", busy, busy/4, 8000-busy*1.25)
		p("  mem.util.used level=%d noise=0.1\n  swap.pagesout rate=%g", 8_000_000+n*1000, mine(200+float64(n), 0, swapping))
		p("  network.interface.in.bytes[en0] rate=%d noise=0.3", 10_000+n)
		p("every %s %s %s polled", f.step, from, to)
		p("  filesys.full[/] level=%g drift=%g", 40+float64(n%30)+mine(45-float64(n%30), 0, filling), mine(5e-5, 0, filling))
		p("  thermal.cpu.die level=%g noise=0.01\n  thermal.pressure.level %g", mine(97.5, 50+float64(n%20), hot), mine(2, 0, hot))
		p("  power.battery.health %g\n  power.battery.cycle_count %g", mine(60+float64(n/10%10), 92, worn), mine(1100, float64(n%500), worn))
		p("  kern.memorystatus_vm_pressure_level %g", mine(2, 1, swapping))
		half := min(from+12*time.Hour-f.step, to)
		f.processed(p, n, from, half, scale, indexer, passed)
		if half == to {
			return
		}
		// Most processes live between two readings: of them there is one row, of how they ended.
		for i := range shortLives {
			k := int(from/(24*time.Hour))*shortLives + i
			p("tick process %s\n  proc.psinfo.utime[%d/2] %d\n  proc.psinfo.stime[%d/2] %d", shortLife(k), 9000+k, (900+k)*int(scale), 9000+k, (50+n)*int(scale))
		}
		f.processed(p, n, half+f.step, to, scale, indexer, passed+(half+f.step-from).Seconds())
	}
	end := 48 * time.Hour
	if trouble == silent {
		end = 30 * time.Hour
	}
	host("1")
	p("boot %s-a -1h", hostID(n))
	day(0, 24*time.Hour-f.step, 0.05, 0)
	if n/2%2 == 1 {
		host("2")
		p("boot %s-b 23h59m30s", hostID(n))
		p("event 23h59m59s boot | the machine was started")
		day(24*time.Hour, end-f.step, 0.4, 0)
	} else {
		p("archive")
		day(24*time.Hour, end-f.step, 0.05, (24 * time.Hour).Seconds())
	}
	if trouble == looping {
		for at := 25 * time.Hour; at < 47*time.Hour; at += time.Hour {
			p("event %s process exit | helper ended: signal 11 | indom=process key=x%d pid=77 name=helper how=signal_11", at, at/time.Hour)
		}
	}
	return b.String()
}

// processed are the readings of the processes that live all day, of which so many seconds
// have passed.
func (f *simulated) processed(p func(string, ...any), n int, from, to time.Duration, scale, indexer, passed float64) {
	p("every %s %s %s process", f.step, from, to)
	for i := range f.processes {
		key := fmt.Sprintf("%d/1", 500+i)
		user, system := (float64(i*5+1)+float64(n)/1000)*scale, float64(i)*scale
		p("  proc.psinfo.utime[%s] rate=%g from=%g\n  proc.psinfo.stime[%s] rate=%g from=%g", key, user, 1000*scale+float64(user*passed), key, system, float64(system*passed))
		p("  proc.memory.rss[%[1]s] level=%[2]d noise=0.05\n  proc.psinfo.threads[%[1]s] %[3]d\n  proc.io.write_bytes[%[1]s] rate=%[2]d from=%.0[4]f\n  proc.psinfo.sname[%[1]s] \"S\"", key, 50_000+1000*i+n, 4+i, float64(50_000+1000*i+n)*passed)
	}
	work := indexer * (1000 + float64(n)/10) * scale
	p("  proc.psinfo.utime[400/1] rate=%g from=%g\n  proc.psinfo.stime[400/1] 0\n  proc.memory.rss[400/1] 90000\n  proc.psinfo.threads[400/1] 2\n  proc.io.write_bytes[400/1] rate=100 from=%g\n  proc.psinfo.sname[400/1] \"R\"", work, float64(work*passed), 100*passed)
}

func hostID(n int) string { return fmt.Sprintf("%08x-%04d", uint32(n)*2654435761, n) }

// archives makes the archives of all machines, and returns them by machine.
func (f *simulated) archives(t testing.TB, dir string) [][]string {
	t.Helper()
	all := make([][]string, f.hosts)
	for n := range all {
		at := filepath.Join(dir, fmt.Sprintf("host-%05d", n))
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		all[n] = exporttest.Archives(t, at, parse(t, f.describe(n)))
	}
	return all
}
