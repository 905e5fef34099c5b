package main

import (
	"os"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
)

// stackQuestions are command lines that read stacks.
var stackQuestions = []string{
	"stacks", "stacks --by thread --min 0", "stacks --by none --running", "stacks --top -n 0", "stacks --top --format csv", "stacks --format csv", "stacks --format json",
	"stacks --format folded", "stacks --format speedscope", "stacks --format firefox", "stacks x", "stacks --stats", "stacks --stats --format json", "at end", "at end --format json", "why", "why --format json", "diff start..end start..end",
}

// What strangers called their programs, threads, files and functions is shown, and nothing
// that a terminal obeys.
func TestStacksOfStrangers(t *testing.T) {
	t.Parallel()
	image := &stack.Image{Path: "/opt/" + attack, ID: attack, Base: 1}
	frames := stackstest.Frames(stackstest.In(image, 1, attack), stackstest.In(image, 2, ""), stackstest.In(nil, 3, "f;"+attack), stackstest.Kernel(attack))
	frames[1].File, frames[1].Line = attack, 7
	archive := stackstest.WriteBy(t, "vm", stack.Statistics{How: attack, Failed: 1, Why: attack}, []stack.Sample{
		{Thread: stack.Thread{PID: 7, Process: attack, Command: attack, TID: 7, Name: attack, Queue: attack}, Wait: attack, End: stack.Broken, Frames: frames, Count: 5},
	})
	for _, question := range stackQuestions {
		for _, width := range []int{0, 50} {
			out, errs, _ := replayOn(width, openStore, testNow, append(words(question), "--archive", archive, "--utc")...)
			for _, line := range strings.SplitAfter(out+errs, "\n") {
				if line = strings.TrimSuffix(line, "\n"); visible.Lines(line) != line {
					t.Errorf("%s writes %q", question, line)
					break
				}
			}
		}
	}
}

// Wherever an archive is damaged, questions about its stacks are answered with what is left,
// or refused with a reason: nothing crashes.
func TestStacksOfDamagedArchives(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(stackstest.Write(t, stackstest.Incident()...))
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/damaged.tacho"
	step := len(whole) / 60
	if testing.Short() {
		step = len(whole) / 12
	}
	for at := step / 2; at < len(whole); at += step {
		damaged := []byte(string(whole))
		for i := at; i < min(at+16, len(damaged)); i++ {
			damaged[i] ^= 0x5a
		}
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, question := range []string{"stacks --format folded --by none", "at end"} {
			status, out, errs := runReplay(append(words(question), "--archive", path)...)
			if strings.Contains(errs, "mistake of the program") || status == cli.Failed && errs == "" {
				t.Errorf("damaged at %d, %s: %d %s%s", at, question, status, out, errs)
			}
		}
	}
}

// Of several hosts each has its tree and its rows; a profile is of one.
func TestStacksOfSeveralHosts(t *testing.T) {
	t.Parallel()
	both := []string{"--archive", stackstest.WriteOf(t, "one", stackstest.Incident()...), "--archive", stackstest.WriteOf(t, "two", stackstest.Later()...)}
	_, out, _ := runReplay(append(words("stacks --utc"), both...)...)
	if !strings.Contains(out, "one  2026-11-20 03:12:01 UTC to 2026-11-20 03:12:02 UTC, 594 samples") || !strings.Contains(out, "two  2026-11-20 03:12:01 UTC to 2026-11-20 03:12:04 UTC, 1188 samples") {
		t.Errorf("trees of\n%s", out)
	}
	_, out, _ = runReplay(append(words("stacks --top --format csv -n 1"), both...)...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || !strings.Contains(out, "\none,2026") || !strings.Contains(out, "\ntwo,2026") {
		t.Errorf("rows\n%s", out)
	}
	status, _, errs := runReplay(append(words("stacks --format folded"), both...)...)
	if status != cli.Failed || !strings.Contains(errs, "a profile is of one host, and stacks were sampled on two, one: choose with --host") {
		t.Errorf("%d %s", status, errs)
	}
	if status, out, errs := runReplay(append(words("stacks --format folded --host two bash"), both...)...); status != cli.Yes || out != "bash (90);wait4;do_wait 396\n" {
		t.Errorf("of one: %d %s%s", status, out, errs)
	}
}
