package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

// recorderAndReplay are recorder and replay, as users run them.
func recorderAndReplay(t *testing.T) (recorder, replay string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("records the machine that it runs on, which the simulated Mac is not")
	}
	return built.Programs(t)
}

// records starts a recorder of this machine that reads it, its processes too, once in
// so much time.
func records(t *testing.T, recorder, dir, interval string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recorder.toml")
	text := fmt.Sprintf("[classes]\nfast = %q\npolled = \"1s\"\nprocess = %[1]q\n[budget]\nmax_cpu = \"off\"\n", interval)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return startProgram(t, nil, recorder, "run", "--archive", dir, "--config", file)
}

// startProgram starts a program that writes to out.
func startProgram(t *testing.T, out *listener, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if out != nil {
		cmd.Stdout, cmd.Stderr = &out.out, &out.said
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = cmd.Process.Wait() })
	return cmd
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	patience.Until(t, what, ok)
}

// TestFollowingARecorderThatIsKilled records this machine, kills the recorder, ends it
// and starts it again, while commands follow. What they have printed is what they
// print afterwards.
func TestFollowingARecorderThatIsKilled(t *testing.T) {
	t.Parallel()
	recorder, replay := recorderAndReplay(t)
	dir := filepath.Join(t.TempDir(), "archives")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{
		{"rates", "kernel.all.cpu", "kernel.all.load", "disk.all.write_bytes", "proc.psinfo.utime", "rate(kernel.all.cpu.user)/hinv.ncpu"},
		{"events"},
	}
	var heard []*listener
	var following []*exec.Cmd
	for _, line := range lines {
		l := &listener{}
		heard = append(heard, l)
		args := append(line, "--archive", dir, "--format", "json")
		following = append(following, startProgram(t, l, replay, append(args, "--follow")...))
		until(t, "it waits for an archive", func() bool { return strings.Contains(l.said.String(), "waiting for one") })
	}
	loads := func() int { return strings.Count(heard[0].out.String(), `"kernel.all.load","instance":"1 minute"`) }
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL} {
		before := loads()
		run := records(t, recorder, dir, "100ms")
		until(t, "some readings have been recorded", func() bool { return loads() >= before+6 })
		_ = run.Process.Signal(end)
		_, _ = run.Process.Wait()
	}
	for i, line := range lines {
		var want []byte
		want, err := exec.Command(replay, append(line, "--archive", dir, "--format", "json")...).Output()
		if err != nil {
			t.Fatal(line, err)
		}
		agree(t, heard[i], string(want), "", "")
		_ = following[i].Process.Signal(syscall.SIGTERM)
		var ended *exec.ExitError
		if err := following[i].Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("%s ended with %v, not by the signal", line[0], err)
		}
	}
	if said := heard[1].said.String(); strings.Count(said, "the recorder stopped at") != 1 {
		t.Errorf("of one recorder that ended is said:\n%s", said)
	}
}
