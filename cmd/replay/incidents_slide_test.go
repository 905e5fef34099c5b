package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
)

// TestSlidIncidents asks why about the same recordings in windows that slide over
// the trouble and are as short as twenty seconds: the cause stands in the first
// line in at least 95 of 100.
func TestSlidIncidents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("asks hundreds of questions")
	}
	asked, right := 0, 0
	for dir, known := range preparedIncidents(t) {
		middle := known.From.Add(known.To.Sub(known.From) / 2)
		for name, w := range map[string][2]time.Time{
			"a minute earlier": {known.From.Add(-time.Minute), known.To.Add(-time.Minute)},
			"30 s earlier":     {known.From.Add(-30 * time.Second), known.To.Add(-30 * time.Second)},
			"30 s later":       {known.From.Add(30 * time.Second), known.To.Add(30 * time.Second)},
			"20 s":             {middle.Add(-10 * time.Second), middle.Add(10 * time.Second)},
			"a minute":         {middle.Add(-30 * time.Second), middle.Add(30 * time.Second)},
		} {
			if !proof.Long() && name != "a minute earlier" && name != "20 s" {
				continue // what is farthest off and what is shortest is the hardest
			}
			status, stdout, stderr := runReplay("why", "--archive", dir, "--format", "json", "--from", w[0].Format(time.RFC3339), "--to", w[1].Format(time.RFC3339))
			if stderr != "" {
				t.Fatalf("%s, %s: status %d, %q", dir, name, status, stderr)
			}
			var first struct{ Text string }
			if err := json.NewDecoder(strings.NewReader(stdout)).Decode(&first); err != nil {
				t.Fatalf("%s, %s: %v", dir, name, err)
			}
			asked++
			ok := status == cli.Yes
			for _, want := range known.Want {
				ok = ok && regexp.MustCompile("(?i)"+want).MatchString(first.Text)
			}
			if ok {
				right++
			} else {
				t.Logf("%s, %s: status %d, %s", filepath.Base(dir), name, status, first.Text)
			}
		}
	}
	if 100*right < 95*asked {
		t.Errorf("right in the first line of %d of %d", right, asked)
	}
}

// why prints with each line the numbers that the line was computed from.
func TestClaimsOfWhy(t *testing.T) {
	_, stdout, _ := runReplay("why", "--archive", "../../testdata/incidents/runaway-loop", "--format", "json")
	var first struct {
		Text   string
		Claims []struct {
			Metric, Instance, Key, Of, Units string
			From, To                         time.Time
			Value                            float64
		}
	}
	if err := json.NewDecoder(strings.NewReader(stdout)).Decode(&first); err != nil {
		t.Fatal(err)
	}
	used := 0.0
	for _, c := range first.Claims {
		if c.From.IsZero() || !c.To.After(c.From) || c.Of == "" {
			t.Errorf("incomplete: %+v", c)
		}
		if strings.HasPrefix(c.Metric, "proc.psinfo.") && strings.Contains(c.Instance, "pricecalc") {
			if c.Of != "rate" || c.Units != "millisec" {
				t.Errorf("no rate of milliseconds: %+v", c)
			}
			used += c.Value / 1000
		}
	}
	if used < 0.5 || used > 1.05 {
		t.Errorf("%s: %+v", first.Text, first.Claims)
	}
}

// The number of a level is the highest of one instance. The value before the window is one of its
// values, and is not added to it.
func TestLevelsOfClaims(t *testing.T) {
	for _, c := range []struct {
		incident, from, to, metric, instance string
		least, most                          float64
	}{
		{"full-volume", "09:02:30", "09:03:30", "filesys.full", "/var/log", 99, 100},
		{"fork-storm", "09:02:30", "09:04:00", "kernel.all.load", "1 minute", 3, 40},
	} {
		_, stdout, _ := runReplay("why", "--archive", "../../testdata/incidents/"+c.incident, "--from", c.from, "--to", c.to, "--format", "json")
		found := 0
		for out := json.NewDecoder(strings.NewReader(stdout)); out.More(); {
			var line struct {
				Claims []struct {
					Metric, Instance string
					Value            float64
				}
			}
			if err := out.Decode(&line); err != nil {
				t.Fatal(err)
			}
			for _, claim := range line.Claims {
				if claim.Metric != c.metric {
					continue
				}
				if found++; claim.Instance != c.instance || claim.Value < c.least || claim.Value > c.most {
					t.Errorf("%s: %+v", c.incident, claim)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing is claimed of %s: %s", c.incident, c.metric, stdout)
		}
	}
}
