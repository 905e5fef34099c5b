package store_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// memoryLoads are the machines that BenchmarkMemory records.
var memoryLoads = []struct {
	name                              string
	processes, metrics, every, system int
}{
	{"360x45every1s+900", 360, 45, 1, 900},
	{"1200x16every5s+900", 1200, 16, 5, 900},
}

// childLoad names, in the environment of a test binary, the load that it is to
// record, and childHours for how long.
const (
	childLoad  = "TACHO_TEST_LOAD"
	childHours = "TACHO_TEST_HOURS"
)

// BenchmarkMemory records some hours of large machines, far faster than they
// live, in a process of its own, and states how much memory that had resident
// at most, its own code included: while recording, and while finishing the
// archive as at a rotation. The collector is set as it is in the recorder.
func BenchmarkMemory(b *testing.B) {
	hours := "2.5"
	if h := os.Getenv(childHours); h != "" {
		hours = h
	}
	for i, load := range memoryLoads {
		b.Run(load.name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryChild$", "-test.v")
				cmd.Env = append(os.Environ(), childLoad+"="+strconv.Itoa(i), childHours+"="+hours, childDir+"="+b.TempDir(), "GOGC=30")
				out, err := cmd.CombinedOutput()
				if err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				for line := range strings.Lines(string(out)) {
					if f := strings.Fields(line); len(f) == 3 && f[0] == "measured" {
						v, _ := strconv.ParseFloat(f[1], 64)
						b.ReportMetric(v, f[2])
					}
				}
			}
		})
	}
}

// TestMemoryChild is the recording process of BenchmarkMemory when its
// environment says so.
func TestMemoryChild(t *testing.T) {
	which := os.Getenv(childLoad)
	if which == "" {
		return
	}
	n, _ := strconv.Atoi(which)
	hours, _ := strconv.ParseFloat(os.Getenv(childHours), 64)
	load := memoryLoads[n]
	l := storetest.NewLoad(load.processes, load.metrics, load.every, load.system)
	at, _ := l.Next()
	clock := proof.NewClock(at)
	w, err := recording.Create(recording.Options{Dir: os.Getenv(childDir), Host: metric.Host{ID: "h", Name: "host"}, BootID: "b",
		Catalog: l.Catalog(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	report := func(unit string) { fmt.Printf("measured %.1f %s\n", float64(peakResident(t))/(1<<20), unit) }
	var spent time.Duration
	for s := 1; s < int(hours*3600); s++ {
		at, ticks := l.Next()
		clock.Set(at)
		for _, tick := range ticks {
			began := time.Now()
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
			spent += time.Since(began)
		}
		if s%60 == 0 { // the committer has a minute's time in life, not here
			proof.WaitFor(t, func() bool { return w.Status().Queued == 0 })
		}
	}
	report("MiB-recording")
	file, err := w.Rotate("end")
	if err != nil {
		t.Fatal(err)
	}
	report("MiB-finishing")
	s := w.Status()
	fmt.Printf("measured %.4f B/value\n", float64(fileSize(t, file))/float64(s.Values))
	fmt.Printf("measured %.1f ns/value\n", float64(spent.Nanoseconds())/float64(s.Values))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// peakResident is the most memory that this process has had resident.
func peakResident(t *testing.T) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip(err) // only Linux tells
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
