package proc

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
)

// sixteen are metrics of every cheap file.
var sixteen = map[string]bool{
	"proc.psinfo.pid": true, "proc.psinfo.ppid": true, "proc.psinfo.cmd": true, "proc.psinfo.sname": true,
	"proc.psinfo.utime": true, "proc.psinfo.stime": true, "proc.psinfo.minflt": true, "proc.psinfo.majflt": true,
	"proc.psinfo.threads": true, "proc.memory.size": true, "proc.memory.rss": true, "proc.id.uid": true,
	"proc.psinfo.pswitch": true, "proc.io.read_bytes": true, "proc.io.write_bytes": true, "proc.schedstat.run_delay": true,
}

func wantSixteen(d *metric.Desc) bool { return sixteen[d.Name] }

// byDefault reports whether a metric belongs to the process class by default.
func byDefault(d *metric.Desc) bool { return d.Class == metric.Process }

func cpuTime() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func benchmarkRead(b *testing.B, r *reader) {
	r.read("proc")
	r.read("proc")
	n := len(r.frames["proc"].Block().Rows)
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	for b.Loop() {
		r.read("proc")
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/1e6, "cpu-ms/sweep")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/float64(n), "cpu-ns/process")
	b.ReportMetric(float64(n), "processes")
}

func BenchmarkFakeTree(b *testing.B) {
	for _, n := range []int{1000, 2000} {
		for name, want := range map[string]func(*metric.Desc) bool{"sixteen": wantSixteen, "default": byDefault} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				f := newFakeTree(b)
				for i := range n {
					f.put(fakeProcess{pid: 100 + i, ppid: 1, comm: fmt.Sprintf("p%d", i), start: uint64(i), vsize: 1 << 30, utime: uint64(i), uid: 501})
				}
				benchmarkRead(b, openReader(b, Options{Root: f.root}, want))
			})
		}
	}
}

// BenchmarkLive reads this machine, with sleeping processes added.
func BenchmarkLive(b *testing.B) {
	for _, n := range []int{0, 1000, 2000} {
		for name, want := range map[string]func(*metric.Desc) bool{"sixteen": wantSixteen, "default": byDefault} {
			b.Run(fmt.Sprintf("plus%d/%s", n, name), func(b *testing.B) {
				sleepers(b, n)
				benchmarkRead(b, openReader(b, Options{}, want))
			})
		}
	}
}

// BenchmarkLiveCostly reads the slower class: footprints, descriptors, sockets.
func BenchmarkLiveCostly(b *testing.B) {
	benchmarkRead(b, openReader(b, Options{}, func(d *metric.Desc) bool { return d.Class == metric.Costly }))
}

// sleepers starts n processes that do nothing until the test ends, and returns their pids.
func sleepers(tb testing.TB, n int) []int32 {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmds := make([]*exec.Cmd, 0, n)
	pids := make([]int32, 0, n)
	for range n {
		cmd := exec.Command("cat")
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		cmds = append(cmds, cmd)
		pids = append(pids, int32(cmd.Process.Pid))
	}
	r.Close()
	tb.Cleanup(func() {
		w.Close() // all of them read the end of the file
		for _, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				tb.Error(err)
			}
		}
	})
	return pids
}

// BenchmarkLiveAwake is the worst case: every process has run since the last sweep, so that
// nothing remembered about it is still valid.
func BenchmarkLiveAwake(b *testing.B) {
	const n = 1000
	inputs := make([]*os.File, n)
	for i := range inputs {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command("cat")
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		r.Close()
		inputs[i] = w
		b.Cleanup(func() {
			w.Close()
			if err := cmd.Wait(); err != nil {
				b.Error(err)
			}
		})
	}
	r := openReader(b, Options{}, wantSixteen)
	r.read("proc")
	cpu := int64(0)
	for b.Loop() {
		b.StopTimer()
		for _, w := range inputs {
			if _, err := w.Write([]byte{'\n'}); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		before := cpuTime()
		r.read("proc")
		cpu += cpuTime() - before
	}
	processes := len(r.frames["proc"].Block().Rows)
	b.ReportMetric(float64(cpu)/float64(b.N)/1e6, "cpu-ms/sweep")
	b.ReportMetric(float64(cpu)/float64(b.N)/float64(processes), "cpu-ns/process")
	b.ReportMetric(float64(processes), "processes")
}
