package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If the name of the lock is a hard link to a file of another user, that file is not
// changed.
func TestLockIsNoHardLink(t *testing.T) {
	dir := t.TempDir()
	other, lock := filepath.Join(dir, "other"), filepath.Join(dir, "recorder.lock")
	if err := os.WriteFile(other, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(other, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(other, lock); err != nil {
		t.Fatal(err)
	}
	l, err := osFS{}.Lock(lock)
	if err == nil {
		l.Unlock()
	}
	if err == nil || !strings.Contains(err.Error(), "2 names") {
		t.Errorf("it is locked: %v", err)
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
