package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A writer prepares a file beside the archive and renames it when it is whole:
// no reader looks at it before.
func TestLiveFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.live", "a.live.j000001", "a.live.j000002.tmp", "b.tacho", "recorder.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, err := liveFiles(dir)
	if want := []string{"a.live", "a.live.j000001"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v; want %q", names, err, want)
	}
}
