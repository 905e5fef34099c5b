// Command beside makes incidents on this very machine, beside whatever else it does, and
// records them: what the prepared ones, made on a machine of their own, cannot be.
//
//	go run ./testdata/incidents/beside             # which there are
//	go run ./testdata/incidents/beside DIR         # record all of them into DIR
//	go run ./testdata/incidents/beside DIR NAME... # record these
//
// It asks for root where a group of control or a volume is part of the trouble. What it
// uses of the machine is bounded: a core or two, 2 GB of memory, 1 GB of disk.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How long there is calm before the trouble, how long the trouble lasts, and how long is
// recorded after it.
const (
	calm   = 75 * time.Second
	within = 70 * time.Second
	after  = 15 * time.Second
)

func main() {
	if len(os.Args) > 2 && works[os.Args[1]] != nil && os.Getenv("INCIDENT") != "" {
		works[os.Args[1]](os.Args[2:])
		return
	}
	if len(os.Args) < 2 {
		for _, t := range troubles {
			fmt.Printf("%-16s %s\n", t.name, t.cause)
		}
		return
	}
	if err := record(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
}

// record records the troubles of these names, or all of them.
func record(dir string, names []string) error {
	scratch, err := os.MkdirTemp("", "beside-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	recorder := filepath.Join(scratch, "recorder")
	if out, err := exec.Command("go", "build", "-o", recorder, "tachograph/cmd/recorder").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	for _, t := range troubles {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		m := &machine{scratch: filepath.Join(scratch, t.name), stop: stop}
		err := os.Mkdir(m.scratch, 0o777)
		if err == nil {
			err = m.record(recorder, dir, t)
		}
		m.clear()
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// A machine is this one while a trouble is made on it.
type machine struct {
	scratch string // a directory that is thrown away
	stop    chan os.Signal
	running []*exec.Cmd
	undo    []func()
}

func (m *machine) record(recorder, dir string, t trouble) error {
	scratch := filepath.Join(m.scratch, "archive")
	r := exec.Command(recorder, "run", "--archive", scratch)
	if err := r.Start(); err != nil {
		return err
	}
	defer func() { _ = r.Process.Kill() }()
	if t.before != nil {
		if err := t.before(m); err != nil {
			return err
		}
	}
	if err := m.pass(calm); err != nil {
		return err
	}
	onset := time.Now()
	if err := t.then(m); err != nil {
		return err
	}
	if err := m.pass(within); err != nil {
		return err
	}
	end := time.Now()
	if t.ends != nil {
		t.ends(m)
	} else {
		m.clear()
	}
	if err := m.pass(after); err != nil {
		return err
	}
	// A new archive, so that this one is finished.
	if err := r.Process.Signal(syscall.SIGUSR1); err != nil {
		return err
	}
	for range 100 {
		if finished, _ := filepath.Glob(filepath.Join(scratch, "*.tacho")); len(finished) > 0 {
			break
		}
		if err := m.pass(100 * time.Millisecond); err != nil {
			return err
		}
	}
	if err := errors.Join(r.Process.Signal(os.Interrupt), r.Wait()); err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	return t.keep(filepath.Join(dir, t.name), scratch, onset, end)
}

// keep puts the archives and what is known of them into dir.
func (t trouble) keep(dir, scratch string, onset, end time.Time) error {
	archives, err := filepath.Glob(filepath.Join(scratch, "*.tacho"))
	if err != nil || len(archives) == 0 {
		return errors.Join(err, errors.New("the recorder left no finished archive"))
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	for _, path := range archives {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"name": t.name, "title": t.cause, "onset": onset, "end": end, "at": onset.Add(end.Sub(onset) * 3 / 4), "from": onset, "to": end, "cause": t.cause, "want": []string{t.want},
	}, "", "\t")
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s to %s, %s\n", t.name, onset.Format(time.TimeOnly), end.Format(time.TimeOnly), t.cause)
	return os.WriteFile(filepath.Join(dir, "incident.json"), append(text, '\n'), 0o644)
}

// pass lets time pass.
func (m *machine) pass(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-m.stop:
		return errors.New("interrupted; this one is not kept")
	}
}

// start starts a program of the machine: this one, by another name, with a work to do.
func (m *machine) start(name string, args ...string) (*exec.Cmd, error) {
	if err := m.install(name); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(m.scratch, name), args...)
	cmd.Dir, cmd.Env = m.scratch, append(os.Environ(), "INCIDENT=1")
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

// clear ends all that was started and takes back what was done.
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

// group makes a group of control of a kind (of version 1), with a setting.
func (m *machine) group(kind, setting, value string) (string, error) {
	dir := filepath.Join("/sys/fs/cgroup", kind, "beside")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	m.undo = append(m.undo, func() { _ = os.Remove(dir) })
	return dir, os.WriteFile(filepath.Join(dir, setting), []byte(value), 0o644)
}

// join puts a process into a group of control.
func join(group string, cmd *exec.Cmd) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Appendln(nil, cmd.Process.Pid), 0o644)
}

// ask has a program begin what it is there for.
func ask(cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGUSR1) }

// volume mounts a tmpfs of some MB.
func (m *machine) volume(name string, size int) (string, error) {
	dir := filepath.Join(m.scratch, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", size), "tmpfs", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mount: %w: %s", err, strings.TrimSpace(string(out)))
	}
	m.undo = append(m.undo, func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir, nil
}
