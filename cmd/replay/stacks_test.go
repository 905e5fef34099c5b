package main

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
)

// stopped are the statistics of a sampling that stopped a process.
var stopped = stack.Statistics{How: "mach", Rounds: 198, Missed: 2, Gone: 1, Failed: 1, Why: "reading a thread: KERN_FAILURE", Broken: 3, Cut: 1, Tasks: 1,
	Waits: 12, WaitsLost: 2, WaitsWhy: "waits were not measured until the end: there were too many switches",
	Suspensions: 5, Suspended: 267_000, Median: 14_000, Longest: 212_000, Spread: stack.Spread{1, 3, 5: 1}}

// TestStacks compares what questions about sampled stacks answer with the transcript of
// them, as TestGolden does for other questions. ARCHIVE, LATER, WAITS and STOPPED are the recordings.
func TestStacks(t *testing.T) {
	t.Parallel()
	archive := stackstest.Write(t, stackstest.Incident()...)
	later := stackstest.Write(t, stackstest.Later()...)
	waits := stackstest.Write(t, stackstest.Waits()...)
	mac := stackstest.WriteBy(t, "air", stopped, stackstest.Incident()...)
	const golden = "testdata/stacks/incident.txt"
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	asked := strings.NewReplacer("ARCHIVE", archive, "LATER", later, "WAITS", waits, "STOPPED", mac).Replace(string(want))
	got := strings.NewReplacer(archive, "ARCHIVE", later, "LATER", waits, "WAITS", mac, "STOPPED").Replace(transcriptOf(openStore, asked))
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", golden, firstDifference(string(want), got))
	}
}

// However narrow a terminal is, no line is longer, and the numbers of samples are there.
func TestStacksFit(t *testing.T) {
	t.Parallel()
	archive := stackstest.Write(t, stackstest.Incident()...)
	for _, question := range []string{"stacks", "stacks --by thread", "stacks --by callers", "stacks --top"} {
		for _, width := range []int{40, 50, 60, 80, 100, 160} {
			out, _, status := replayOn(width, openStore, testNow, append(words(question), "--archive", archive, "--utc")...)
			if status != 0 || !strings.Contains(out, "196") {
				t.Errorf("%s in %d columns: %d\n%s", question, width, status, out)
			}
			for line := range strings.Lines(out) {
				if w := human.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s in %d columns %d: %s", question, width, w, line)
				}
			}
		}
	}
}

// A profile is written whole, and over nothing.
func TestStacksIntoAFile(t *testing.T) {
	t.Parallel()
	archive := stackstest.Write(t, stackstest.Incident()...)
	dst := t.TempDir() + "/profile.pb.gz"
	args := []string{"stacks", "--archive", archive, "--utc", "--format", "pprof", "-o", dst}
	if out, errs, status := replayWith(openStore, testNow, args...); status != 0 || out != "" || !strings.Contains(errs, dst+": 594 samples, ") {
		t.Fatalf("%d %s%s", status, out, errs)
	}
	first, err := os.ReadFile(dst)
	if err != nil || len(first) < 2 || first[0] != 0x1f || first[1] != 0x8b {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if _, errs, status := replayWith(openStore, testNow, args...); status == 0 || !strings.Contains(errs, "exists: --force overwrites it") {
		t.Errorf("a second time: %d %s", status, errs)
	}
	if _, errs, status := replayWith(openStore, testNow, append(args, "--force")...); status != 0 {
		t.Errorf("with --force: %d %s", status, errs)
	}
	if out, errs, status := replayOn(80, openStore, testNow, "stacks", "--archive", archive, "--format", "pprof"); status == 0 || out != "" {
		t.Errorf("to a terminal: %d %q %s", status, out, errs)
	}
}

// A profile for Firefox is compressed if the name of its file says so.
func TestStacksForFirefox(t *testing.T) {
	t.Parallel()
	archive := stackstest.Write(t, stackstest.Incident()...)
	plain, _, status := replayWith(openStore, testNow, "stacks", "--archive", archive, "--utc", "--format", "firefox")
	p, err := stackstest.ReadFirefox([]byte(plain))
	if err != nil || status != 0 || len(p.Threads) != 3 {
		t.Fatalf("%d %v", status, err)
	}
	dst := t.TempDir() + "/profile.json.gz"
	if _, errs, status := replayWith(openStore, testNow, "stacks", "--archive", archive, "--utc", "--format", "firefox", "-o", dst); status != 0 {
		t.Fatal(errs)
	}
	f, err := os.Open(dst)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != plain {
		t.Errorf("%v: %.300s", err, text)
	}
}

// On macOS the key of a process is a number, which is somebody else's pid: an argument that
// is a number means a pid only, and no answer proposes a key to ask by.
func TestStacksOfAMac(t *testing.T) {
	t.Parallel()
	stackOf := func(pid int32, key, command string, count uint32) stack.Sample {
		return stack.Sample{Thread: stack.Thread{PID: pid, Process: key, Command: command, TID: uint64(pid)}, Frames: stackstest.Frames(stackstest.In(stackstest.App, 0x1000, command+"_main")), Count: count}
	}
	archive := stackstest.Write(t, []stack.Sample{stackOf(455, "9", "Finder", 5), stackOf(9, "455", "logd", 3)})
	for question, want := range map[string]string{"stacks 455": "Finder (455);Finder_main 5\n", "stacks 9": "logd (9);logd_main 3\n"} {
		out, errs, status := replayWith(openStore, testNow, append(words(question), "--archive", archive, "--format", "folded")...)
		if status != 0 || out != want {
			t.Errorf("%s: %d %q %s", question, status, out, errs)
		}
	}
	out, errs, status := replayWith(openStore, testNow, "at", "2026-11-20 03:12:01", "--archive", archive, "--utc")
	if status != 0 || !strings.Contains(out, "replay stacks 455 ") {
		t.Errorf("%d %s%s", status, out, errs)
	}
}
