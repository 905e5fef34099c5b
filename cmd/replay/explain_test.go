package main

import (
	"encoding/csv"
	"strings"
	"testing"
)

// TestExplainIsOneTable explains two metrics to a program: below one heading, and neither if one
// of them does not exist.
func TestExplainIsOneTable(t *testing.T) {
	stdout, stderr, status := replay(openText, "explain", "kernel.all.load", "mem.util.used", "--archive", "testdata/mac.txt", "--format", "csv")
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if status != 0 || err != nil || stderr != "" {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	if len(rows) != 3 || rows[0][0] != "metric" || rows[1][0] != "kernel.all.load" || rows[2][0] != "mem.util.used" {
		t.Errorf("it prints %q", rows)
	}
	stdout, stderr, status = replay(openText, "explain", "kernel.all.load", "no.such", "--archive", "testdata/mac.txt")
	if status == 0 || stdout != "" || !strings.HasPrefix(stderr, "replay: no metric no.such") {
		t.Errorf("with a metric that does not exist: status %d, %q, %q", status, stdout, stderr)
	}
}
