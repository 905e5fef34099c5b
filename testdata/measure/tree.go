package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is an entry of /proc.
type process struct {
	pid, parent int
	cpu         float64 // seconds, including threads that have ended
}

// listProcesses lists all processes.
func listProcesses() map[int]process {
	all := make(map[int]process)
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may contain anything.
		_, rest, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		f := strings.Fields(rest)
		if !ok || len(f) < 13 {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		parent, _ := strconv.Atoi(f[1])
		user, _ := strconv.ParseFloat(f[11], 64)
		system, _ := strconv.ParseFloat(f[12], 64)
		all[pid] = process{pid, parent, (user + system) / 100}
	}
	return all
}

// below lists root and its descendants.
func below(all map[int]process, root int) []process {
	var out []process
	for pid, p := range all {
		for at := pid; at > 1; at = all[at].parent {
			if at == root {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

// peakOf returns the greatest resident memory of processes and their descendants, in MB.
func peakOf(all map[int]process, roots ...int) (mb float64) {
	for _, r := range roots {
		for _, p := range below(all, r) {
			text := field(fmt.Sprintf("/proc/%d/status", p.pid), "VmHWM")
			kb, _ := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
			mb += kb / 1024
		}
	}
	return mb
}

// forks returns how many processes there have been since the machine started.
func forks() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "processes "); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return v
		}
	}
	return 0
}
