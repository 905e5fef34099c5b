//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// live is a recorder that runs while the test changes what the Mac has on its disk. The test knows
// the time of the Mac from what is recorded.
type live struct {
	*session
	recorder *exec.Cmd
	follower *exec.Cmd
	ticks    *json.Decoder
	now      time.Time    // of the Mac, when it was last recorded
	errs     bytes.Buffer // of the follower
}

// live starts the recorder on a Mac whose homes are in the session's folder, too.
func (s *session) live() *live {
	t := s.t
	t.Helper()
	for _, dir := range []string{archiveDir, "/Users", "/var/root"} {
		s.mkdir(dir)
		if dir != archiveDir { // which is below the root anyway
			s.flags = append(s.flags, "--map", dir+"="+filepath.Join(s.root, dir))
		}
	}
	l := &live{session: s, recorder: s.start("run", "--archive", archiveDir)}
	if err := l.recorder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.recorder.Process.Kill() })
	l.follower = exec.Command(s.p.replay, "values", "mem.pages.faults", "--follow", "--utc", "--format", "json", "--archive", s.dir())
	l.follower.Stderr = &l.errs
	out, err := l.follower.StdoutPipe()
	if err == nil {
		err = l.follower.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.follower.Process.Kill(); _ = l.follower.Wait() })
	l.ticks = json.NewDecoder(out)
	return l
}

// until waits until the recorder has recorded an instant.
func (l *live) until(at time.Time) {
	l.t.Helper()
	for l.now.Before(at) {
		var tick struct{ Time time.Time }
		if err := l.ticks.Decode(&tick); err != nil {
			_ = l.follower.Wait()
			l.t.Fatalf("%v\n%s\n%s", err, l.errs.Bytes(), l.said())
		}
		l.now = tick.Time
	}
}

// wait lets time pass on the Mac.
func (l *live) wait(length time.Duration) {
	l.t.Helper()
	l.until(l.now.Add(length))
}

// put writes a file as the Mac has it, with a time of the Mac's clock.
func (l *live) put(path, text string) {
	l.t.Helper()
	path = filepath.Join(l.root, path)
	hidden := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(hidden, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Chtimes(hidden, l.now, l.now); err != nil {
		l.t.Fatal(err)
	}
	l.move(hidden[len(l.root):], path[len(l.root):])
}

func (l *live) move(from, to string) {
	l.t.Helper()
	if err := os.Rename(filepath.Join(l.root, from), filepath.Join(l.root, to)); err != nil {
		l.t.Fatal(err)
	}
}

// grow adds to a file.
func (l *live) grow(path, more string) {
	l.t.Helper()
	f, err := os.OpenFile(filepath.Join(l.root, path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := f.WriteString(more); err != nil {
		l.t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.Chtimes(f.Name(), l.now, l.now)); err != nil {
		l.t.Fatal(err)
	}
}

func (s *session) mkdir(path string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.root, path), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the recorder.
func (l *live) stop() {
	l.t.Helper()
	if err := l.recorder.Process.Signal(os.Interrupt); err != nil {
		l.t.Fatal(err)
	}
	if err := l.recorder.Wait(); err != nil {
		l.t.Fatalf("%v\n%s", err, l.said())
	}
	l.checkLeaks()
}
