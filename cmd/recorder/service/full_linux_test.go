package service

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestStatusOnAFullDisk holds that a full disk, which takes no further file,
// still gets the status that says so.
func TestStatusOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	withOwnMounts(t, func() string {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			return "cannot mount: " + err.Error()
		}
		path := filepath.Join(dir, StatusName)
		old := bytes.Repeat([]byte("o"), 5000)
		if err := replaceStatus(path, old); err != nil {
			t.Error(err)
			return ""
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
		return ""
	})
}
