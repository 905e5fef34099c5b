package service

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestStatusOnAFullDisk holds that a full disk, which takes no further file,
// still gets the status that says so.
func TestStatusOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	done, skip := make(chan struct{}), ""
	go func() {
		defer close(done)
		// The thread ends with the goroutine, and with it the disk that only it
		// sees.
		runtime.LockOSThread()
		if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_FS); errors.Is(err, syscall.EPERM) {
			skip = "only root can mount"
			return
		} else if err != nil {
			t.Error(err)
			return
		}
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			skip = "cannot mount: " + err.Error()
			return
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			skip = "cannot mount: " + err.Error()
			return
		}
		path := filepath.Join(dir, StatusName)
		old := bytes.Repeat([]byte("o"), 5000)
		if err := replaceStatus(path, old); err != nil {
			t.Error(err)
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "all"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Error("the disk is not full: ", err)
		}
		for _, n := range []int{4000, 5000, 6000} {
			text := bytes.Repeat([]byte("n"), n)
			if err := replaceStatus(path, text); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes: %d are there, %v", n, len(got), err)
			}
		}
	}()
	<-done
	if skip != "" {
		t.Skip(skip)
	}
}
