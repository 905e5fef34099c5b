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

// ask sends a signal to the recorder that writes to dir and waits until its status has the
// answer; answered returns the time of the last answer.
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
	// The status file has the pid that gets a signal: only trusted users may write it.
	case config.CheckDir(dir) != nil:
		return st, config.CheckDir(dir)
	case !service.Running(dir, st):
		return st, a.lastWordsOf(dir, st, fmt.Errorf("no recorder writes to %s: the last one (pid %d) is gone", dir, st.PID))
	}
	return st, nil
}

// lastWordsOf adds to an error the last error in the installed service's log, if that service
// writes to dir and has not been stopped.
func (a *app) lastWordsOf(dir string, st service.Status, err error) error {
	if h, ok := a.serviceOf(dir); ok && !st.Stopped {
		return (&words{h: h, since: st.Started}).explain(err)
	}
	return err
}

// serviceOf returns the machine's service if it is installed and writes to dir.
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

// noPermission is the error for a directory of archives that may not be read, with a remedy.
func noPermission(dir string) error {
	return fmt.Errorf("no permission to read %s: run the same with sudo, or as a member of the group that may read the archives (archive.group in the configuration)", dir)
}
