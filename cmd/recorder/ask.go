package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tachograph/cmd/recorder/service"
	"tachograph/config"
)

// ask sends the recorder that writes to dir a signal and waits until its status
// tells what came of that; answered is when it told so last.
func (a *app) ask(dir string, sig syscall.Signal, within time.Duration, answered func(*service.Status) time.Time) (service.Status, error) {
	st, err := a.running(dir)
	if err != nil {
		return st, err
	}
	asked, pid := time.Now(), st.PID
	if err := syscall.Kill(pid, sig); errors.Is(err, syscall.EPERM) {
		return st, fmt.Errorf("the recorder (pid %d) belongs to another user: run the same with sudo", pid)
	} else if err != nil {
		return st, fmt.Errorf("the recorder (pid %d) cannot be asked: %w", pid, err)
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	looked := asked
	for now := range ticker.C {
		if st, err = service.ReadStatus(dir); err == nil && st.PID == pid && answered(&st).After(asked) {
			return st, nil
		}
		if now.Sub(looked) >= time.Second {
			looked = now
			if err == nil && (st.PID != pid || !service.Running(dir, st)) {
				return st, a.lastWordsOf(dir, st, fmt.Errorf("the recorder (pid %d) ended before it was done", pid))
			}
		}
		if now.Sub(asked) > within {
			break
		}
	}
	return st, fmt.Errorf("the recorder (pid %d) did not answer within %s", pid, within)
}

// running returns the status of the recorder that writes to dir now.
func (a *app) running(dir string) (service.Status, error) {
	st, err := service.ReadStatus(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st, a.lastWordsOf(dir, st, fmt.Errorf("no recorder writes to %s", dir))
	case errors.Is(err, fs.ErrPermission):
		return st, noPermission(dir)
	case err != nil:
		return st, err
	// The file says whom to send a signal: it must come from somebody who may.
	case config.CheckDir(dir) != nil:
		return st, config.CheckDir(dir)
	case !service.Running(dir, st):
		return st, a.lastWordsOf(dir, st, fmt.Errorf("no recorder writes to %s: the last one (pid %d) is gone", dir, st.PID))
	}
	return st, nil
}

// lastWordsOf adds to an error what the installed service complained of before
// it ended, if it is the one that writes to dir and was not told to stop.
func (a *app) lastWordsOf(dir string, st service.Status, err error) error {
	if h, ok := a.serviceOf(dir); ok && !st.Stopped {
		return (&words{h: h, since: st.Started}).explain(err)
	}
	return err
}

// serviceOf is the machine's service if it is installed and writes to dir.
func (a *app) serviceOf(dir string) (*host, bool) {
	if a.host == nil {
		return nil, false
	}
	h, err := a.host()
	if err != nil || h.archives() != dir {
		return nil, false
	}
	if _, err := os.Stat(filepath.Join(h.root, h.layout.Job)); err != nil {
		return nil, false
	}
	return &h, true
}

// noPermission is the refusal to look into a directory of archives, and what to
// do about it.
func noPermission(dir string) error {
	return fmt.Errorf("no permission to read %s: run the same with sudo, or as a member of the group that may read the archives (archive.group in the configuration)", dir)
}
