package main

import (
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/stacks/stackstest"
)

// Whatever is made of archives has their stacks, and an archive of steps has none.
func TestStacksAreCarried(t *testing.T) {
	t.Parallel()
	archive := stackstest.Write(t, stackstest.Incident()...)
	stacksOf := func(path string, args ...string) string {
		t.Helper()
		status, out, errs := runReplay(append([]string{"stacks", "--archive", path, "--format", "folded"}, args...)...)
		if status != cli.Yes {
			t.Fatalf("%s: %s", path, errs)
		}
		return out
	}
	dir := t.TempDir()
	made := func(name string, args ...string) string {
		t.Helper()
		dst := filepath.Join(dir, name)
		if status, out, errs := runReplay(append(args, "-o", dst)...); status != cli.Yes {
			t.Fatalf("%v: %s%s", args, out, errs)
		}
		return dst
	}
	all := stacksOf(archive)
	if n := strings.Count(all, "\n"); n != 6 {
		t.Fatalf("there are %d stacks:\n%s", n, all)
	}
	for name, path := range map[string]string{
		"a snapshot":             made("snapshot.tacho", "snapshot", "--archive", archive),
		"merged with itself":     made("merged.tacho", "merge", archive, made("again.tacho", "snapshot", "--archive", archive)),
		"a part, by hosts":       made("split", "split", archive, "--by", "host"),
		"stacks alone, by names": made("named.tacho", "snapshot", "stack", "--archive", archive),
	} {
		if got := stacksOf(path); got != all {
			t.Errorf("%s has\n%swant\n%s", name, got, all)
		}
		if status, out, errs := runReplay("verify", path); status != cli.Yes {
			t.Errorf("%s: %s%s", name, out, errs)
		}
	}
	second := made("second.tacho", "snapshot", "--archive", archive, "--from", "2026-11-20 03:12:02")
	if got, want := stacksOf(second), stacksOf(archive, "--from", "2026-11-20 03:12:02"); got != want || got == all {
		t.Errorf("the second second is cut out as\n%swant\n%s", got, want)
	}
	if got, want := stacksOf(made("bash.tacho", "snapshot", "--archive", archive, "--process", "bash")), stacksOf(archive, "bash"); got != want {
		t.Errorf("of one process there are\n%swant\n%s", got, want)
	}
	redacted := stacksOf(made("redacted.tacho", "snapshot", "--archive", archive, "--redact"))
	for _, secret := range []string{"indexer", "engine", "parse", "flush"} {
		if strings.Contains(redacted, secret) {
			t.Errorf("redacted stacks name %s:\n%s", secret, redacted)
		}
	}
	for _, stays := range []string{"bash (90);wait4;do_wait 198\n", ";__libc_start_main;main;function-", ";write;ksys_write;io_schedule 196\n", ";malloc 38\n"} {
		if !strings.Contains(redacted, stays) {
			t.Errorf("redacted stacks lack %q:\n%s", stays, redacted)
		}
	}
	steps := made("steps.tacho", "reduce", archive, "--keep", "1m")
	if status, out, errs := runReplay("stacks", "--archive", steps); status != cli.Failed || !strings.Contains(errs, "no stacks were sampled") {
		t.Errorf("steps have %s%s", out, errs)
	}
}

// Who asks for everything does not get each call of each stack.
func TestStacksFloodNothing(t *testing.T) {
	t.Parallel()
	both := []string{"--archive", loads(t, "one")[0], "--archive", stackstest.Write(t, stackstest.Incident()...)}
	for _, question := range []string{"values *", "values * --format csv", "ranges *", "rates /./ --step 1m", "plot *", "export --format jsonl -o -", "export --format csv -o -", "export --format openmetrics -o - --host m"} {
		status, out, errs := runReplay(append(words(question), both...)...)
		if status == cli.Failed || strings.Contains(out, "stack") || strings.Contains(errs, "stack") || !strings.Contains(out, "runnable") {
			t.Errorf("%s: %d %.300s\n%s", question, status, out, errs)
		}
	}
	for _, question := range []string{"values stack.samples", "values stack*", "export stack --format jsonl -o -"} {
		if status, out, _ := runReplay(append(words(question), both...)...); status != cli.Yes || !strings.Contains(out, "000090 bash") {
			t.Errorf("%s: %d %.300s", question, status, out)
		}
	}
}
