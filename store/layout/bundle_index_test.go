package layout

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// pack writes a bundle of n empty members and returns the path of each.
func pack(t *testing.T, path string, n int) (members []string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for i := range n {
		name := fmt.Sprintf("%d%s", i, FinishedSuffix)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		members = append(members, filepath.Join(path, name))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return members
}

// A bundle is read once for all members that are opened, however many it has, and again if
// another file takes its place.
func TestBundleIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b"+FinishedSuffix)
	members := pack(t, path, MaxMembers-1)
	var first *contents
	for i, m := range members {
		f, err := Open(m)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if i == 0 {
			first = latest.Load()
		}
	}
	if latest.Load() != first {
		t.Error("it was read again")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	pack(t, path, 1)
	if _, err := Open(members[1]); err == nil {
		t.Error("what was in the bundle before is still found")
	}
}
