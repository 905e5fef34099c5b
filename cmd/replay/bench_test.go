package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/built"
)

// questions are what the benchmarks ask of a day, and how long the answer may
// take from the start of the program to its end.
var questions = []struct {
	name  string
	args  string
	limit time.Duration
}{
	{"info", "info", 0},
	{"rates-24h", "rates kernel.all.pswitch --format csv", 30 * time.Millisecond},
	{"rates-24h-step", "rates kernel.all.pswitch --step 1m --format csv", 0},
	{"ranges-system-24h", "ranges kernel mem disk network filesys --quick --format csv", 300 * time.Millisecond},
	{"ranges-percentiles-24h", "ranges kernel mem disk network filesys --format csv", 0},
	{"top-10m", "top --from start+12h --to start+12h10m", 46 * time.Millisecond},
	{"top-24h", "top", 500 * time.Millisecond},
	{"top-24h-name", "top --group name --by write", 0},
	{"ps-at", "ps --at start+12h", 0},
	{"ps-history", "ps postgres --from start+12h --to start+12h10m --format csv", 0},
	{"at", "at start+12h", 100 * time.Millisecond},
	{"diff", "diff start+12h..start+12h10m start+12h10m..start+12h20m", time.Second},
	{"overview", "", 0},
	{"find-24h", "find rate(kernel.all.cpu.user)>1.5 --for 30s", 0},
	{"summary", "summary", 0},
	{"explain", "explain kernel.all.cpu.user", 0},
	{"events", "events", 0},
}

// askBuilt asks a question of a day and returns the processor time that took, and
// the most memory that was resident, in bytes.
func askBuilt(tb testing.TB, bin, args, day string) (cpu time.Duration, peak int64) {
	cmd := exec.Command(os.Args[0], append([]string{bin}, append(words(args), "--archive", day)...)...)
	cmd.Env = append(os.Environ(), asMeter+"=1")
	var said, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &errs
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v: %s", args, err, errs.String())
	}
	if _, err := fmt.Sscan(said.String(), &cpu, &peak); err != nil {
		tb.Fatalf("%s: %q: %v", args, said.String(), err)
	}
	return cpu, peak
}

// asMeter makes the test's binary run the program that its arguments name and say what
// that took. Linux counts as a program's peak also that of the process which started
// it, up to then: a test that has worked for minutes cannot measure, one just begun can.
const asMeter = "REPLAY_TEST_AS_METER"

func meter(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != cli.No {
		return err
	}
	state := cmd.ProcessState
	_, err := fmt.Println(int64(state.UserTime()+state.SystemTime()), state.SysUsage().(*syscall.Rusage).Maxrss<<10)
	return err
}

// mostResident is what any question may need of memory, over a day on which
// processes come and go by the ten thousand; mostOfFortyMinutes over forty minutes of it.
const (
	mostResident       = 100 << 20
	mostOfFortyMinutes = 64 << 20
)

func TestMemoryOfQuestions(t *testing.T) {
	t.Parallel()
	recording, most, bin := fortyMinutes, int64(mostOfFortyMinutes), built.Program(t, "replay")
	if proof.Long() {
		recording, most = aDay, mostResident
	}
	path := needDay(t, recording)
	// What the test itself has in memory is not the answer's.
	ballast := bytes.Repeat([]byte{1}, 2*mostResident)
	defer runtime.KeepAlive(ballast)
	for i, args := range []string{
		"values proc.psinfo.utime --format csv", "values proc.memory.rss --format json", "rates proc.psinfo.utime --format csv",
		"rates proc.psinfo.utime --step 1m --format csv", "ranges proc.psinfo.utime --format csv", "ranges proc.memory.rss --quick --format csv",
		"ranges proc.psinfo.utime --rates --format csv", "ranges kernel mem disk network filesys --format csv",
		"ranges kernel mem disk network filesys --rates --format csv",
	} {
		if i%3 != 0 && !proof.Long() {
			continue // The others take what one of these takes.
		}
		if _, peak := askBuilt(t, bin, args, path); peak > most {
			t.Errorf("%s: %d MiB resident", args, peak>>20)
		}
	}
}

// BenchmarkQuestions runs each question as a program of its own: its start is
// part of the time. It reports the largest resident size as well.
func BenchmarkQuestions(b *testing.B) {
	day := needDay(b, aDay)
	bin := built.Program(b, "replay")
	for _, q := range questions {
		b.Run(q.name, func(b *testing.B) {
			var peak int64
			var cpu time.Duration
			for b.Loop() {
				c, p := askBuilt(b, bin, q.args, day)
				cpu, peak = cpu+c, max(peak, p)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(peak)/(1<<20), "MiB")
			if q.limit > 0 {
				b.ReportMetric(float64(q.limit.Milliseconds()), "ms-limit")
			}
		})
	}
}

// BenchmarkStart is what any program costs.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
