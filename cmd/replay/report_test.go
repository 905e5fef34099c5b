package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/store/storetest/proof"
)

// TestReport writes pages and refuses to.
func TestReport(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "r.html")
	mac := "testdata/mac.txt"
	for _, c := range []struct {
		args   []string
		status int
		stderr string
	}{
		{args: []string{mac, "-o", page}},
		{args: []string{mac, "-o", page}, status: 2, stderr: "exists: --force overwrites it"},
		{args: []string{mac, "-o", page, "--force"}},
		{args: []string{mac, "-o", dir}, status: 2, stderr: "is a directory"},
		{args: []string{mac, "-o", filepath.Join(dir, "none", "r.html")}, status: 2, stderr: "no such file or directory"},
		{args: []string{mac, "-o", "/dev/full"}, status: 2, stderr: "cannot write /dev/full: no space left on device"},
		{args: []string{mac, "--last-crash", "-o", page, "--force"}, status: 2, stderr: "no panic and no unclean end was recorded"},
		{args: []string{mac, "--last-crash", "--at", "03:10"}, status: 2, stderr: "finds the window by itself"},
		{args: []string{mac, "--format", "csv"}, status: 2, stderr: "report writes a page"},
		{args: []string{"testdata/fleet.txt", "-o", page, "--force"}, status: 2, stderr: "choose one with --host"},
		{args: []string{mac, "--at", "03:10", "-o", page, "--force"}},
		{args: []string{mac, "--at", "03:10", "--from", "03:12", "-o", page, "--force"}, status: 2, stderr: "is not between"},
		{args: []string{mac, "--at", "2026-11-18 03:10", "-o", page, "--force"}, status: 2, stderr: "nothing was recorded"},
		{args: []string{mac, "--from", "2026-11-18 03:00", "--to", "2026-11-18 04:00", "-o", page, "--force"}, status: 2, stderr: "nothing was recorded from 2026-11-18"},
		{args: []string{mac, "--from", "2026-11-20 03:10", "--to", "2026-11-20 03:10", "-o", page, "--force"}},
		{args: []string{"testdata/asleep.txt", "-o", page, "--force"}},
		{args: []string{"testdata/none.tacho", "-o", page, "--force"}, status: 2, stderr: "none.tacho"},
	} {
		if c.args[len(c.args)-1] == "/dev/full" {
			if _, err := os.Stat("/dev/full"); err != nil {
				continue // It is Linux that has a full disk at hand.
			}
		}
		_, stderr, status := replay(openText, append([]string{"report"}, c.args...)...)
		if status != c.status || c.stderr == "" && stderr != "" || !strings.Contains(stderr, c.stderr) || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%v: status %d, %q", c.args, status, stderr)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "r.html" {
		t.Errorf("left behind: %v %v", left, err)
	}
}
