package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/manual"
	"tachograph/store/query"
)

// recorder install brings replay's page along: it stands beside recorder.
func TestManualPageIsCurrent(t *testing.T) {
	t.Parallel()
	const path = "../recorder/pages/replay.1"
	got := manualPage(newApp(nil, nil, nil).command()).Text
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s is not what replay man writes (go test -update writes it anew): %v %s", path, err, firstDifference(string(want), got))
	}
}

func TestHelpAboutExpressionsNamesEveryFunction(t *testing.T) {
	t.Parallel()
	text, errs, status := replayAt(testNow, "help", "expressions")
	if status != cli.Yes {
		t.Fatal(errs)
	}
	for _, name := range query.Functions() {
		if !strings.Contains(text, "\n  "+name+"(x) ") {
			t.Errorf("%s is not described", name)
		}
	}
	if text, errs, status := replayAt(testNow, "help", "expresions"); status != cli.Failed || !strings.Contains(errs, "did you mean expressions?") {
		t.Errorf("status %d %s%s", status, text, errs)
	}
}

// Every command and flag is on the page, and man reads it without a complaint.
func TestManualPageIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, errs, status := replayAt(testNow, "man", dir); status != cli.Yes {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "replay.1"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), `\-`, "-")
	for _, c := range newApp(nil, nil, nil).command().Commands() {
		if !c.Hidden && c.Runnable() && c.Name() != "help" && !strings.Contains(page, ".SS \""+c.Name()) {
			t.Errorf("the page does not tell of %s", c.Name())
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", filepath.Join(dir, "replay.1")).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("groff: %v %s", err, out)
		}
	}
}

// Help fits a terminal of 80 columns, of every command.
func TestHelpFits(t *testing.T) {
	t.Setenv("HOME", "/home/ana") // which stands in it
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	for c := range manual.Commands(newApp(io.Discard, io.Discard, nil).command()) {
		out, _, _ := replayAt(testNow, strings.Fields(strings.TrimPrefix(c.CommandPath(), "replay")+" --help")...)
		for line := range strings.Lines(out) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%s --help: %q", c.CommandPath(), line)
			}
		}
	}
}
