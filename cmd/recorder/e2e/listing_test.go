//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/darwin/darwintest"
)

// lines runs the recorder once and reads what it prints as JSON.
func (s *session) lines(args ...string) []row {
	s.t.Helper()
	cmd := s.start(args...)
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("recorder %v: %v\n%s", args, err, s.said())
	}
	s.checkLeaks()
	var rows []row
	list := json.NewDecoder(strings.NewReader(string(out)))
	list.UseNumber()
	for list.More() {
		var r row
		if err := list.Decode(&r); err != nil {
			s.t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestEveryRowIsListed holds what `recorder metrics` lists against the table of
// facts, and what `recorder probe` reads against the scenario.
func TestEveryRowIsListed(t *testing.T) {
	t.Parallel()
	s := mac(t, "whole-laptop.scn")
	supported, reason := make(map[string]bool), make(map[string]string)
	for _, r := range s.lines("metrics", "--json") {
		supported[r.text("metric")] = r["supported"] == true
		reason[r.text("metric")] = r.text("reason")
	}
	text, err := os.ReadFile(filepath.Join(moduleRoot, "testdata", "darwin", "facts", "metrics.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	count, without := make(map[string]int), make(map[string]int)
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		c := strings.Split(line, "\t")
		if i == 0 {
			continue
		}
		name, origin := c[0], c[1]
		count[origin]++
		has, listed := supported[name]
		switch {
		case !listed:
			t.Errorf("%s (%s) is not listed", name, origin)
		case !has && reason[name] == "":
			t.Errorf("%s (%s) is listed as not supported, without a reason", name, origin)
		case !has:
			without[origin]++
			t.Logf("%s: %s", name, reason[name])
		}
	}
	t.Logf("rows of the table by origin: %v, of these with a reason instead of a value on this laptop: %v", count, without)

	world, err := darwintest.Load(s.scenario, s.p.Shipped)
	if err != nil {
		t.Fatal(err)
	}
	probed := make(map[darwintest.Series]string)
	for _, r := range s.lines("probe", "--json", "--processes") {
		probed[darwintest.Series{Metric: r.text("metric"), Instance: r.text("instance")}] = r.text("value")
	}
	var wrong complaints
	n := 0
	for series, want := range world.Expect().Values {
		if !supported[series.Metric] {
			continue
		}
		if got, ok := probed[series]; !ok {
			wrong.add("probe does not show %v", series)
		} else if n++; !same(got, want) && !staleWhenFrozen(series.Metric) {
			wrong.add("probe shows %v = %s; the scenario says %s", series, got, want)
		}
	}
	wrong.tell(t)
	t.Logf("probe shows the scenario's value of %d series", n)
}

// staleWhenFrozen are the metrics whose second reading repeats the first one
// where time stands still, which is what a stale answer looks like.
func staleWhenFrozen(metric string) bool {
	return strings.HasPrefix(metric, "mem.") || slices.Contains([]string{"swap.pagesin", "swap.pagesout"}, metric)
}
