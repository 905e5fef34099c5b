package perf

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

func ownTime(t testing.TB) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSampling measures the processor time of a session of five seconds, including names. What
// the sampled program loses is measured by testdata/measure.
func BenchmarkSampling(b *testing.B) {
	cmd := started(b, compiled(b))
	for _, c := range []struct {
		name string
		wish stack.Wish
	}{
		{"one at 99", stack.Wish{PID: int32(cmd.Process.Pid), Rate: 99}},
		{"one at 999", stack.Wish{PID: int32(cmd.Process.Pid), Rate: 999}},
		{"all at 99", stack.Wish{Rate: 99}},
	} {
		b.Run(c.name, func(b *testing.B) {
			samples, used, sessions := 0, time.Duration(0), 0
			for b.Loop() {
				s := New()
				namer := symbol.NewNamer(s.Open, symbol.Recording)
				c.wish.For = 5 * time.Second
				before := ownTime(b)
				if _, err := s.Sample(b.Context(), c.wish, func(x *stack.Sample) { namer.Name(x); samples++ }); err != nil {
					b.Fatal(err)
				}
				used += ownTime(b) - before
				sessions++
			}
			b.ReportMetric(float64(used.Microseconds())/float64(samples), "cpu-us/sample")
			b.ReportMetric(float64(used.Milliseconds())/float64(sessions), "cpu-ms/session")
			b.ReportMetric(float64(samples)/float64(sessions), "samples/session")
		})
	}
}

// BenchmarkWaits measures what it costs to measure waits: of two threads that wake each other, with
// so much work between. The program's own processor time says how much slower it is, also on a busy
// machine.
func BenchmarkWaits(b *testing.B) {
	needsWaits(b)
	for _, work := range []int{100_000, 10_000, 0} {
		b.Run(fmt.Sprintf("%d us of work", work/1000), func(b *testing.B) {
			const turns = 50_000
			withTracefs(b)
			run := func(measured func(*waiter) []string) (took, used time.Duration) {
				w := startWaiter(b, strconv.Itoa(turns), strconv.Itoa(work))
				var ns int64
				if _, err := fmt.Sscan(measured(w)[0], &ns); err != nil {
					b.Fatal(err)
				}
				if err := w.cmd.Wait(); err != nil {
					b.Fatal(err)
				}
				return time.Duration(ns), w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime()
			}
			const forever = time.Duration(1<<63 - 1)
			alone, with := forever, forever // the least of several runs, as others use the machine as well
			var sampled, own time.Duration
			waits, samples := 0, 0
			for b.Loop() {
				_, used := run(func(w *waiter) []string {
					fmt.Fprintln(w.in)
					line, _ := w.out.ReadString('\n')
					return []string{line}
				})
				alone = min(alone, used)
				took, used := run(func(w *waiter) []string {
					before := ownTime(b)
					lines, statistics := w.measured(b, New(), 1, func(*stack.Sample) { samples++ })
					own += ownTime(b) - before
					if waits += statistics.Waits; statistics.WaitsLost > 0 || statistics.WaitsWhy != "" {
						b.Logf("%d lost; %s", statistics.WaitsLost, statistics.WaitsWhy)
					}
					return lines
				})
				sampled, with = sampled+took, min(with, used)
			}
			b.ReportMetric(100*(float64(with)/float64(alone)-1), "%more-cpu")
			b.ReportMetric(float64((with-alone).Microseconds())/(2*turns), "cpu-us/wait")
			b.ReportMetric(float64(waits)/sampled.Seconds(), "waits/s")
			b.ReportMetric(100*own.Seconds()/sampled.Seconds(), "%core")
			b.ReportMetric(float64(samples)/sampled.Seconds(), "samples/s")
		})
	}
}
