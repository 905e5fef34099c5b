package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be served, or means nothing to a server, is refused before it
// listens.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.tacho")
	if err := os.WriteFile(text, []byte("no archive at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := "unix:" + filepath.Join(dir, "s")
	for _, c := range []struct{ args, says string }{
		{text + " --listen " + at, "not an archive"},
		{filepath.Join(dir, "none") + " --listen " + at, "no such file"},
		{dir + " --from -1h --listen " + at, "--from"},
		{dir + " --host web --listen " + at, "--host"},
		{dir + " --format json --listen " + at, "--format"},
		{dir + " --mode 9 --listen " + at, "--mode 9"},
		{dir + " --listen nowhere", "unix:PATH"},
		{dir + " --listen tcp:0.0.0.0:0", "--tls-cert"},
		{dir + " --pcp 44321", "unix:PATH"},
		{dir + " --pcp tcp:0.0.0.0:0", "--pcp-remote"},
		{dir + " --pcp tcp:127.0.0.1:0 --mode 0600", "for a unix socket"},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, status := replayWith(openStore, testNow, append([]string{"serve"}, strings.Fields(c.args)...)...)
			if status != 2 || stdout != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d, %q, %q", status, stdout, stderr)
			}
		})
	}
}
