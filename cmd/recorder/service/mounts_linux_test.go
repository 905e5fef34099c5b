package service

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
)

// withOwnMounts runs a test on a thread that sees mounts of its own, which end with it.
// What f returns is why it could not be made here, or nothing.
func withOwnMounts(t *testing.T, f func() (skip string)) {
	t.Helper()
	done, skip := make(chan struct{}), ""
	go func() {
		defer close(done)
		// The thread ends with the goroutine, and with it what only it sees.
		runtime.LockOSThread()
		if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_FS); errors.Is(err, syscall.EPERM) {
			skip = "needs root"
			return
		} else if err != nil {
			t.Error(err)
			return
		}
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			skip = "cannot mount: " + err.Error()
			return
		}
		skip = f()
	}()
	<-done
	if skip != "" {
		t.Skip(skip)
	}
}
