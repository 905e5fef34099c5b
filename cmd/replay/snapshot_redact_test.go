package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/store/storetest/proof"
)

// A redacted snapshot is called after nobody, says what is left, and tells the same
// of the incident.
func TestSnapshotRedacted(t *testing.T) {
	proof.Unraced(t)
	src, err := filepath.Abs("../../testdata/incidents/memory-hog")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	out, errs, status := replay(openReal, "snapshot", "--redact", "--archive", src)
	name, _, _ := strings.Cut(out, ": ")
	if status != 0 || !strings.HasPrefix(name, "host-") || strings.Contains(out, "macbook.local") || !strings.Contains(out, "could tell whose machine it was:\n- ") {
		t.Fatalf("exit %d: %s%s", status, out, errs)
	}
	if out, errs, status := replay(openReal, "verify", name); status != 0 {
		t.Errorf("verify: %s%s", out, errs)
	}
	out, errs, status = replay(openReal, "why", "--archive", name)
	if status != 0 || !strings.Contains(out, "grew from 600 MB to 11 GB") || !strings.Contains(out, "process-") || strings.Contains(out, "tilerender") {
		t.Errorf("exit %d: %s%s", status, out, errs)
	}
	if out, _, status := replay(openReal, "snapshot", "--redact=all", "--archive", src, "-o", "all.tacho"); status != 0 || strings.Contains(out, "many machines run") {
		t.Errorf("exit %d: names of programs stay: %s", status, out)
	}
}

func TestSnapshotRedactMistakes(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--key-file", key}, "--redact makes them"},
		{[]string{"--redact=some"}, "--redact=all"},
		{[]string{"--redact", "--key-file", key}, "chmod 600"},
		{[]string{"--redact", "--key-file", key + "2"}, "no such file"},
	} {
		out, errs, status := replay(openReal, append([]string{"snapshot", "--archive", "../../testdata/incidents/memory-hog", "-o", key + ".tacho"}, c.args...)...)
		if status == 0 || !strings.Contains(errs, c.want) || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
			t.Errorf("%q: exit %d: %s%s", c.args, status, out, errs)
		}
		if _, err := os.Stat(key + ".tacho"); err == nil {
			t.Errorf("%q: there is a file", c.args)
		}
	}
}
