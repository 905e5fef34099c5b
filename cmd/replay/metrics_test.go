package main

import (
	"strconv"
	"strings"
	"testing"
)

// TestMetricsByCategory has each metric in one category, and the categories count all of them.
func TestMetricsByCategory(t *testing.T) {
	t.Parallel()
	ask := func(status int, line string) (out, said string) {
		t.Helper()
		out, said, got := replay(openText, append(words(line), "--archive", "testdata/mac.txt")...)
		if got != status {
			t.Errorf("replay %s: status %d, %s", line, got, said)
		}
		return out, said
	}
	all, _ := ask(0, "metrics --all --format csv")
	categories, _ := ask(0, "metrics --all --categories --format csv")
	listed := 0
	for i, row := range strings.Split(strings.TrimSpace(categories), "\n") {
		if i == 0 {
			continue
		}
		category, numbers, _ := strings.Cut(row, ",")
		of, _ := ask(0, "metrics --all --format csv --category "+category)
		rows := strings.Split(strings.TrimSpace(of), "\n")[1:]
		for _, of := range rows {
			if cells := strings.Split(of, ","); cells[6] != category {
				t.Errorf("of %s: %s", category, of)
			}
		}
		if number, _, _ := strings.Cut(numbers, ","); number != strconv.Itoa(len(rows)) {
			t.Errorf("%s: there are %d", row, len(rows))
		}
		listed += len(rows)
	}
	if n := strings.Count(all, "\n") - 1; listed != n || n == 0 {
		t.Errorf("%d metrics are of categories, of %d", listed, n)
	}
	out, said := ask(2, "metrics --category kernel.al")
	if out != "" || !strings.Contains(said, "did you mean kernel.all") || strings.Count(said, "\n") != 1 {
		t.Errorf("%q, %q", out, said)
	}
}
