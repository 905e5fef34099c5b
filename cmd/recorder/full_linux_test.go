package main

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tachograph/cmd/internal/cli"
)

// small mounts a file system of so many bytes.
func small(t *testing.T, size string) string {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFullDiskAtTheStart(t *testing.T) {
	t.Parallel()
	said, status := try(t, "run", "--archive", small(t, "16k"), "--for", "3s")
	if status != cli.Failed || strings.Count(said, "\n") != 1 || !strings.Contains(said, "no space left on device") {
		t.Errorf("status %d: %s", status, said)
	}
}

// TestDiskThatFillsUp records on a file system that has no room after a while:
// the recorder says so once, lives on, and stores what it kept when there is
// room again.
func TestDiskThatFillsUp(t *testing.T) {
	t.Parallel()
	dir := small(t, "2m")
	// The journal is written over room that it has already, 64 KB of it: processes
	// that come and go at ten sweeps a second use that up soon.
	p := start(t, dir, configFile(t, busy))
	ballast := dir + "/ballast"
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	n := p.valuesOf("kernel.all.cpu.user")
	var brief sync.WaitGroup
	p.await("it complains", func() bool {
		for range 5 {
			brief.Go(func() { _ = exec.Command("sleep", "0.3").Run() })
		}
		return strings.Contains(p.said(), "no space left on device")
	})
	brief.Wait()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.await("there are more values", func() bool { return p.valuesOf("kernel.all.cpu.user") > n+3 })
	if got := strings.Count(p.said(), "no space left on device"); got > 3 {
		t.Errorf("it complained %d times: %s", got, p.said())
	}
	p.end(syscall.SIGTERM)
	if code := p.cmd.ProcessState.ExitCode(); code != cli.Yes {
		t.Errorf("status %d: %s", code, p.said())
	}
}
