package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How long it is calm before the trouble, how long the trouble lasts, and how long the recording
// continues after it.
const (
	calm   = 75 * time.Second
	within = 70 * time.Second
	after  = 15 * time.Second
)

// besides are the incidents that are made on this very machine, beside its other work. They use
// a bounded part of it: a core or two, 2 GB of memory, 1 GB of disk. Those with a control group
// or a volume need root.
var besides = slices.Concat(beside("beside-", troubles), beside("kept-", keptTroubles))

func beside(prefix string, troubles []trouble) (list []recipe) {
	for _, t := range troubles {
		list = append(list, recipe{Name: prefix + t.name, Title: t.cause, asked: within.Seconds() * 3 / 4, length: within.Seconds(),
			known: known{Cause: t.cause, Want: []string{t.want}}, here: t.record})
	}
	return list
}

// A machine is this machine while a trouble is made on it.
type machine struct {
	scratch string // a temporary directory
	running []*exec.Cmd
	undo    []func()
}

// record makes the trouble and records it.
func (t trouble) record(ctx context.Context, root, scratch string) (archives []string, onset time.Time, err error) {
	m := &machine{scratch: filepath.Join(scratch, "machine")}
	defer m.clear()
	if err := os.Mkdir(m.scratch, 0o777); err != nil {
		return nil, onset, err
	}
	recorder, dir := filepath.Join(scratch, "recorder"), filepath.Join(scratch, "archive")
	build := exec.CommandContext(ctx, "go", "build", "-o", recorder, "./cmd/recorder")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, onset, fmt.Errorf("go build: %w\n%s", err, out)
	}
	r := exec.Command(recorder, "run", "--archive", dir)
	if err := r.Start(); err != nil {
		return nil, onset, err
	}
	defer func() {
		_ = r.Process.Kill()
		_ = r.Wait()
	}()
	if t.before != nil {
		if err := t.before(m); err != nil {
			return nil, onset, err
		}
	}
	if err := pass(ctx, calm); err != nil {
		return nil, onset, err
	}
	onset = time.Now().UTC()
	if err := t.then(m); err != nil {
		return nil, onset, err
	}
	if err := pass(ctx, within); err != nil {
		return nil, onset, err
	}
	m.clear()
	if err := pass(ctx, after); err != nil {
		return nil, onset, err
	}
	// Begin a new archive, so that this one is finished, beside those that ended with an hour.
	finished := func() []string {
		list, _ := filepath.Glob(filepath.Join(dir, "*.tacho"))
		return list
	}
	before := len(finished())
	if err := r.Process.Signal(syscall.SIGUSR1); err != nil {
		return nil, onset, err
	}
	for range 100 {
		if archives = finished(); len(archives) > before {
			break
		}
		if err := pass(ctx, 100*time.Millisecond); err != nil {
			return nil, onset, err
		}
	}
	return archives, onset, nil
}

// pass waits.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return errors.New("interrupted; nothing was kept")
	}
}

// start starts a program of the machine: a copy of this program under another name, with a task.
func (m *machine) start(name string, args ...string) (*exec.Cmd, error) {
	if err := m.install(name); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(m.scratch, name), args...)
	cmd.Dir, cmd.Env = m.scratch, append(os.Environ(), "INCIDENT=beside")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m.running = append(m.running, cmd)
	return cmd, nil
}

// install makes a program of the machine, which is a copy of this one.
func (m *machine) install(name string) error {
	path := filepath.Join(m.scratch, name)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(path, self, 0o755)
}

// clear ends everything that was started, and undoes all changes.
func (m *machine) clear() {
	for _, cmd := range slices.Backward(m.running) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	for _, undo := range slices.Backward(m.undo) {
		undo()
	}
	m.running, m.undo = nil, nil
}

// group makes a control group (version 1) of a kind, with a setting.
func (m *machine) group(kind, setting, value string) (string, error) {
	dir := filepath.Join("/sys/fs/cgroup", kind, "beside")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	m.undo = append(m.undo, func() { _ = os.Remove(dir) })
	return dir, os.WriteFile(filepath.Join(dir, setting), []byte(value), 0o644)
}

// join puts a process into a control group.
func join(group string, cmd *exec.Cmd) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Appendln(nil, cmd.Process.Pid), 0o644)
}

// begin signals the n-th started program to begin its task.
func (m *machine) begin(n int) error { return m.running[n].Process.Signal(syscall.SIGUSR1) }

// volume mounts a tmpfs of some MB, for a number of files.
func (m *machine) volume(name string, size, files int) (string, error) {
	dir := filepath.Join(m.scratch, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,nr_inodes=%d", size, files), "tmpfs", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mount: %w: %s", err, strings.TrimSpace(string(out)))
	}
	m.undo = append(m.undo, func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir, nil
}
