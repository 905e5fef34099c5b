package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
)

// preparedIncident is what is known of a recording in testdata/incidents.
type preparedIncident struct {
	Cause        string
	At, From, To time.Time
	// Want are regular expressions that must each match in the first lines.
	Want []string
}

// firstLines is how many lines of an answer must hold the cause.
const firstLines = 3

// preparedIncidents reads the cause of each recording in testdata/incidents; the keys are directories.
func preparedIncidents(t *testing.T) map[string]*preparedIncident {
	t.Helper()
	described, err := filepath.Glob("../../testdata/incidents/*/incident.json")
	if err != nil || len(described) == 0 {
		t.Fatalf("no incidents: %v", err)
	}
	all := make(map[string]*preparedIncident)
	for _, path := range described {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		known := new(preparedIncident)
		if err := json.Unmarshal(text, known); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Dir(path)] = known
	}
	return all
}

// TestPreparedIncidents asks why about recordings of trouble whose cause is
// known: by an instant, by a window and without either. The cause must stand in
// the first three lines.
func TestPreparedIncidents(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	for dir, known := range preparedIncidents(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for name, ask := range map[string][]string{
				"at":     {"--at", known.At.Format(time.RFC3339)},
				"window": {"--from", known.From.Format(time.RFC3339), "--to", known.To.Format(time.RFC3339)},
				"worst":  {},
			} {
				t.Run(name, func(t *testing.T) { known.judge(t, dir, ask) })
			}
		})
	}
}

func (k *preparedIncident) judge(t *testing.T, dir string, ask []string) {
	status, stdout, stderr := runReplay(append([]string{"why", "--archive", dir, "--format", "json"}, ask...)...)
	if status != cli.Yes || stderr != "" {
		t.Fatalf("status %d, %q; the cause is: %s", status, stderr, k.Cause)
	}
	var first strings.Builder
	for n, rows := 0, json.NewDecoder(strings.NewReader(stdout)); n < firstLines && rows.More(); n++ {
		var line struct{ Text string }
		if err := rows.Decode(&line); err != nil {
			t.Fatal(err)
		}
		first.WriteString(line.Text + "\n")
	}
	for _, want := range k.Want {
		if !regexp.MustCompile("(?i)" + want).MatchString(first.String()) {
			t.Errorf("the cause is: %s; the first lines have no %q:\n%s", k.Cause, want, first.String())
		}
	}
}
