package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store/storetest/proof"
)

// The command of each line shows something, of every kind of trouble that there
// is a recording of.
func TestCommandsOfWhy(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	recorded, err := filepath.Glob("../../testdata/incidents/*/*.tacho")
	if err != nil || len(recorded) == 0 {
		t.Fatalf("no incidents: %v", err)
	}
	tried := make(map[string]bool)
	for _, path := range recorded {
		_, answer, _ := runReplay("why", "--archive", path, "--format", "json")
		for rows := json.NewDecoder(strings.NewReader(answer)); rows.More(); {
			var line struct{ Kind, Command string }
			if err := rows.Decode(&line); err != nil {
				t.Fatal(err)
			}
			if tried[line.Kind] {
				continue
			}
			tried[line.Kind] = true
			words := shellWords(t, line.Command)
			if status, out, errs := runReplay(words[1:]...); status != cli.Yes || strings.Count(out, "\n") < 2 {
				t.Errorf("%s: %s: status %d, %q, %q", line.Kind, line.Command, status, out, errs)
			}
		}
	}
	if len(tried) < 8 {
		t.Errorf("only the kinds %v", tried)
	}
}

// Archives are taken as plain arguments, and the commands that show more name them.
func TestWhyTakesArchives(t *testing.T) {
	t.Parallel()
	recorded, err := filepath.Glob("../../testdata/incidents/*/*.tacho")
	if err != nil || len(recorded) == 0 {
		t.Fatalf("no incidents: %v", err)
	}
	status, plain, errs := runReplay("why", recorded[0])
	if status != cli.Yes || errs != "" {
		t.Fatalf("status %d, %q", status, errs)
	}
	_, flagged, _ := runReplay("why", "--archive", recorded[0])
	if first, _, _ := strings.Cut(flagged, "\n\n#"); !strings.HasPrefix(plain, first) || !strings.Contains(first, " --archive ") {
		t.Errorf("with a plain argument:\n%s\nwith --archive:\n%s", plain, flagged)
	}
	if status, _, errs := runReplay("why", "03:12"); status != cli.Failed || !strings.Contains(errs, "given with --at") {
		t.Errorf("status %d, %q", status, errs)
	}
}

// The commands name an archive as whoever asks did, each in one line, and the
// sentences fit the terminal.
func TestWhyNamesTheArchiveAsItWasGiven(t *testing.T) {
	t.Parallel()
	relative := "../../testdata/incidents/runaway-loop"
	absolute, err := filepath.Abs(relative)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{40, 80} {
		for _, given := range []string{relative, absolute} {
			var o, e strings.Builder
			a := newApp(&o, &e, testClock)
			a.width = width
			if status := a.run([]string{"why", "--archive", given}); status != cli.Yes {
				t.Fatalf("status %d: %s", status, e.String())
			}
			shown, _, _ := strings.Cut(o.String(), "\n#")
			named := 0
			for line := range strings.Lines(shown) {
				line = strings.TrimSuffix(line, "\n")
				if command, ok := strings.CutPrefix(line, "    replay "); ok {
					if named++; !strings.HasSuffix(command, " --archive "+given) {
						t.Errorf("%s was given: %s", given, line)
					}
				} else if n := human.Width(line); n > width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if named == 0 {
				t.Errorf("no command:\n%s", shown)
			}
		}
	}
}
