package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pushstate"
)

// How far a push is behind is measured against what is recorded, also against what it
// has never read; where that cannot be looked at, it is said to be at least so much.
func TestPushSaysHowMuchIsLeft(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer server.Close()
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "s.push")
	archive, err := os.ReadFile(finishedArchive(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.tacho")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runReplay("push", dir, "--to", server.URL+"/api/v1/write", "--state", state); code != cli.Yes {
		t.Fatalf("%d\n%s%s", code, out, errs)
	}
	status := func(want string) {
		t.Helper()
		if code, out, errs := runReplay("push", "--status", "--state", state); code != cli.Yes || !strings.Contains(out, want) {
			t.Errorf("%d, want %q:\n%s%s", code, want, out, errs)
		}
	}
	status(": up to date, ")
	s, err := pushstate.Read(state)
	if err != nil {
		t.Fatal(err)
	}
	// It has acknowledged 21 hours less than there is, and has read a minute of these.
	s.AckedWall = time.Unix(0, s.Recorded).Add(-21 * time.Hour).UnixNano()
	s.Recorded = time.Unix(0, s.AckedWall).Add(57 * time.Second).UnixNano()
	if err := s.Write(state); err != nil {
		t.Fatal(err)
	}
	status(": 21h behind, ")
	if err := os.Rename(path, filepath.Join(t.TempDir(), "elsewhere.tacho")); err != nil {
		t.Fatal(err)
	}
	status(": at least 57s behind, ")
}
