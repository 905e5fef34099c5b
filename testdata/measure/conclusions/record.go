package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// loads are what this machine does while it is recorded as a noise: shell scripts that run
// without end, in a temporary directory.
var loads = []struct{ name, script string }{
	{"as-it-is", `while :; do sleep 60; done`},
	{"builds", `while :; do GOCACHE="$D/cache" go build -o /dev/null tachograph/cmd/replay; rm -rf "$D/cache"; sleep 15; done`},
	{"polling", `for every in 0.2 0.5 1; do (until grep -q never /etc/hostname; do sleep $every; done) & done
		while :; do test -e "$D/never"; sleep 3; done`},
	{"scripts", `while :; do for f in /etc/*; do head -c 100 "$f" 2>/dev/null | tr a b | wc -c >/dev/null; done; sleep 0.3; done`},
	{"files", `while :; do dd if=/dev/zero of="$D/f" bs=1M count=200 conv=fsync status=none; gzip -f -k "$D/f"; cat "$D/f" >/dev/null; sleep 20; done`},
}

// record records this machine under each of the loads, for a time, each into its own directory.
func record(dir string, long time.Duration) error {
	work, err := os.MkdirTemp("", "conclusions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	recorder := filepath.Join(work, "recorder")
	if out, err := exec.Command("go", "build", "-o", recorder, "tachograph/cmd/recorder").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	for _, l := range loads {
		if err := under(l.script, work, func() error {
			fmt.Fprintf(os.Stderr, "recording %s for %v\n", l.name, long)
			out, err := exec.Command(recorder, "run", "--archive", filepath.Join(dir, l.name), "--for", long.String()).CombinedOutput()
			if err != nil {
				return fmt.Errorf("recorder: %w\n%s", err, out)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// under calls do while a script runs. It then ends the script with everything that the script
// started.
func under(script, work string, do func() error) error {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), "D="+work)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	return do()
}
