package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks/stackstest"
)

// Where waits were measured, why says who waited for whom, and the command of each claim shows the
// time that the thread waited.
func TestWhyNamesWaits(t *testing.T) {
	t.Parallel()
	archive := stackstest.Write(t, stackstest.Waits()...)
	out, errs, _ := replay(openStore, "why", "--at", "2026-11-20T03:12:04Z", "--format", "json", "--archive", archive, "--utc")
	const want = "waits: main of ledger (700) waited 4.2 s for worker-3, which waited 4 s for fsync; stacks were sampled for 5 s"
	found := false
	for line := range strings.Lines(out) {
		var row struct {
			Kind, Text, Command string
			Claims              []claim
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v %s", err, errs)
		}
		if row.Kind != "waits" {
			continue
		}
		found = true
		if row.Text != want {
			t.Errorf("it says\n%s\nwant\n%s", row.Text, want)
		}
		if len(row.Claims) != 2 {
			t.Errorf("%d claims: %+v", len(row.Claims), row.Claims)
		}
		for _, c := range row.Claims {
			if got := waitedOf(t, c.Command, c.Key); math.Abs(got*1e9-c.Value) > 1e-6*c.Value {
				t.Errorf("%+v: its command shows %v s", c, got)
			}
		}
	}
	if !found {
		t.Errorf("it says nothing of the waits:\n%s%s", out, errs)
	}
	if out, _, _ := replay(openStore, "why", "--at", "2026-11-20T03:12:01Z", "--archive", stackstest.Write(t, stackstest.Incident()...), "--utc"); strings.Contains(out, "waits:") {
		t.Errorf("of waits that were not measured it says\n%s", out)
	}
}

// waitedOf returns for how many seconds the rows of a command say that a thread waited.
func waitedOf(t *testing.T, command, tid string) (sum float64) {
	out, errs, status := replay(openStore, append(words(command)[1:], "--format", "json")...)
	if status != 0 {
		t.Errorf("%s: status %d %s", command, status, errs)
	}
	for line := range strings.Lines(out) {
		var row struct {
			TID    string
			Waited float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.TID == tid {
			sum += row.Waited
		}
	}
	return sum
}
