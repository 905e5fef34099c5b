package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/store"
	"tachograph/store/layout"
)

// An archive is being written when a recorder holds the lock beside it, or
// where that cannot be looked at, when it grew lately.
func TestBeingWritten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name               string
		live, lock, locked bool
		age                time.Duration
		want               bool
	}{
		{"finished", false, true, true, 0, false},
		{"locked", true, true, true, time.Second, true},
		{"locked, after a sleep", true, true, true, time.Hour, true},
		{"stopped just now", true, true, false, time.Second, false},
		{"a copy without the lock", true, false, false, time.Second, false},
		{"a lock that may not be opened, lately", true, false, false, time.Second, true},
		{"a lock that may not be opened, long ago", true, false, false, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.lock {
				f, err := os.Create(filepath.Join(dir, layout.LockName))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if c.locked {
					if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
						t.Fatal(err)
					}
				}
			}
			if strings.HasPrefix(c.name, "a lock") {
				// Links are not followed, for root neither.
				if err := os.Symlink("/dev/null", filepath.Join(dir, layout.LockName)); err != nil {
					t.Fatal(err)
				}
			}
			got := beingWritten(&store.ArchiveInfo{Path: filepath.Join(dir, "x.live"), Live: c.live, To: now.Add(-c.age).UnixNano()}, now)
			if got != c.want {
				t.Errorf("being written: %v", got)
			}
		})
	}
}
