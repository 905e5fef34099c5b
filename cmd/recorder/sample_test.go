package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
)

// sampled counts the stacks in an archive or a directory of them.
func sampled(t *testing.T, path string) (samples, events int) {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for run := range r.Select(store.Selection{Metrics: []string{"stack.samples"}}) {
		for _, n := range run.Bits {
			samples += int(n)
		}
	}
	for e := range r.Events(0, 0) {
		if e.Kind == metric.EventStacks {
			events++
		}
	}
	return samples, events
}

func TestSample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, configFile(t, often))
	pid := strconv.Itoa(p.cmd.Process.Pid)
	out, err := command("sample", pid, "--archive", dir, "--for", "1s").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "(pid "+pid+") were sampled for ") {
		t.Fatalf("%v: %s", err, out)
	}
	if samples, events := sampled(t, dir); samples == 0 || events != 1 {
		t.Errorf("%d samples and %d events are in the archive being written", samples, events)
	}
	// A wish that is left lying is nobody's any more.
	if _, err := os.Lstat(filepath.Join(dir, "recorder.sample")); err == nil {
		t.Error("the wish is still there")
	}

	file := filepath.Join(t.TempDir(), "own.tacho")
	if out, err = command("sample", pid, "-o", file, "--for", "1s").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if samples, events := sampled(t, file); samples == 0 || events != 1 {
		t.Errorf("%d samples and %d events are in the file", samples, events)
	}

	if out, err = command("sample", pid, "--self-check", "--for", "1s").CombinedOutput(); err != nil || !strings.Contains(string(out), "taken") ||
		!strings.Contains(string(out), "nothing was stopped") {
		t.Fatalf("%v: %s", err, out)
	}

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sample"}, "say whose stacks"},
		{[]string{"sample", "--all", "--self-check"}, "about one process"},
		{[]string{"sample", pid, "--self-check", "-o", file}, "keeps nothing"},
		{[]string{"sample", pid, "1"}, "one process at a time"},
		{[]string{"sample", pid, "--all"}, "leave " + pid + " out"},
		{[]string{"sample", "no such program"}, "no process is called no such program"},
		{[]string{"sample", "2147483647"}, "there is no process 2147483647"},
		{[]string{"sample", pid, "--rate", "5000"}, "between 1 and 1000"},
		{[]string{"sample", pid, "--for", "-1s"}, "more than nothing"},
		{[]string{"sample", pid, "--for", "1h"}, "at most 10m0s"},
		{[]string{"sample", pid, "-o", file}, "exists"},
		{[]string{"sample", pid, "-o", filepath.Join(file, "below")}, "not a directory"},
		{[]string{"sample", pid, "--archive", t.TempDir()}, "with -o FILE stacks are sampled without one"},
	} {
		out, err := command(c.args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %v: %q, want a line with %q", c.args, err, out, c.want)
		}
	}
	p.end(syscall.SIGTERM)
	if samples, events := sampled(t, dir); samples == 0 || events != 1 {
		t.Errorf("%d samples and %d events are in the archive afterwards", samples, events)
	}
}
