package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tachograph/cmd/internal/cli"
)

// What a server refused is told with when and why, and is pushed again when that is
// asked for, alone.
func TestPushAgain(t *testing.T) {
	t.Parallel()
	path := finishedArchive(t)
	var full atomic.Bool
	full.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if full.Load() {
			http.Error(w, "no room \x1b[31mfor this", http.StatusUnprocessableEntity)
		}
	}))
	defer server.Close()
	to, state := server.URL+"/api/v1/write", filepath.Join(t.TempDir(), "s.push")
	push := func(more ...string) []string {
		return append([]string{"push", path, "--to", to, "--state", state}, more...)
	}
	status := []string{"push", "--status", "--state", state}
	for _, step := range []struct {
		args []string
		exit int
		want string
	}{
		{push("--again"), cli.Failed, "knows of no earlier push to " + to},
		{status, cli.Failed, "no such file"},
		{push(), cli.No, "refused until now: "},
		{status, cli.Yes, ": 422 Unprocessable Entity: no room"},
		{status, cli.Yes, "  set aside at "},
		{push("--again"), cli.No, "still set aside: 1 batch"},
		{push("--again", "--follow"), cli.Failed, "leave --follow and --from out"},
		{append(status, "--follow"), cli.Failed, "goes with --to or --state"},
		{append(status, "--to", "http://other.example/write"), cli.Failed, "no push has left anything here"},
		{push("--timeout", "0s"), cli.Failed, "--timeout 0s is no length of time"},
		{nil, 0, ""}, // from here on there is room
		{push("--again"), cli.Yes, "more of what was set aside"},
		{push("--again"), cli.Yes, "nothing of a push to " + to + " is set aside"},
		{append(status, "--to", to), cli.Yes, to + ": up to date, "},
	} {
		if step.args == nil {
			full.Store(false)
			continue
		}
		got, out, errs := runReplay(step.args...)
		if got != step.exit || !strings.Contains(out+errs, step.want) || strings.Contains(out+errs, "\x1b") {
			t.Errorf("%q: %d, want %d and %q:\n%s%s", step.args, got, step.exit, step.want, out, errs)
		}
	}
	if _, err := os.Stat(state); err != nil {
		t.Error(err)
	}
	if _, out, _ := runReplay(status...); strings.Contains(out, "set aside") || strings.Contains(out, "REFUSED") {
		t.Errorf("at the end:\n%s", out)
	}
}
