package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// profile returns what a command spends its processor time on, or a running process while the
// command runs: the functions with the most time, and the kernel as one. It is empty without
// perf.
func (m *measure) profile(pid int, command ...string) string {
	perf, err := exec.LookPath("perf")
	if err != nil {
		return ""
	}
	file := filepath.Join(m.work, "perf.data")
	defer os.Remove(file)
	args := []string{"record", "-q", "-e", "cpu-clock", "-F", "2999", "-o", file}
	if pid > 0 {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	if err := exec.Command(perf, append(append(args, "--"), command...)...).Run(); err != nil {
		m.say("perf: %v", err)
		return ""
	}
	out, err := exec.Command(perf, "report", "-q", "--stdio", "--no-children", "-g", "none", "-F", "overhead,symbol", "-i", file).Output()
	if err != nil {
		m.say("perf: %v", err)
		return ""
	}
	return heaviest(string(out), 8)
}

// heaviest returns the first n entries of a perf report, in a line.
func heaviest(report string, n int) string {
	share := make(map[string]float64)
	for line := range strings.Lines(report) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		percent, err := strconv.ParseFloat(strings.TrimSuffix(f[0], "%"), 64)
		if err != nil {
			continue
		}
		name := strings.TrimPrefix(strings.Join(f[2:], " "), "tachograph/")
		if f[1] == "[k]" {
			name = "the kernel"
		}
		share[name] += percent
	}
	names := slices.SortedFunc(maps.Keys(share), func(a, b string) int {
		return cmp.Or(cmp.Compare(share[b], share[a]), cmp.Compare(a, b))
	})
	var text []string
	for _, name := range names[:min(n, len(names))] {
		if share[name] < 1 {
			break
		}
		text = append(text, fmt.Sprintf("%s %.0f %%", name, share[name]))
	}
	return strings.Join(text, ", ")
}
