package service

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReducingOnAFullDisk holds that a disk that fills up while an archive is reduced
// leaves the archive as it was and nothing beside it, and that this passes.
func TestReducingOnAFullDisk(t *testing.T) {
	dir, stock := t.TempDir(), t.TempDir()
	path := days(t, stock, 1, began)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := openDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	withOwnMounts(t, func() string {
		for room := 4 << 10; room <= 40<<10; room += 4 << 10 {
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
				return "cannot mount: " + err.Error()
			}
			at := filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(at, b, 0o640); err != nil {
				t.Error(err)
				return ""
			}
			if err := os.WriteFile(filepath.Join(dir, "rest"), make([]byte, 1<<20-pages(len(b))-room), 0o600); err != nil {
				t.Error(err)
				return ""
			}
			a := &diskArchive{elsewhere.Writer, dir, slog.New(slog.DiscardHandler)}
			to, err := a.Reduce(context.Background(), at, time.Minute, nil)
			left, _ := filepath.Glob(filepath.Join(dir, "*.tacho*"))
			if err != nil && (hopeless(err) || !slices.Equal(left, []string{at}) || !strings.Contains(err.Error(), "no space")) {
				t.Errorf("%d bytes of room: %v, %s; there is %v", room, err, to, left)
			}
			if got, err := os.ReadFile(at); err != nil || !slices.Equal(got, b) {
				t.Errorf("the archive has changed: %v", err)
			}
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
				return ""
			}
		}
		return ""
	})
}

func pages(n int) int { return (n + 4095) &^ 4095 }
