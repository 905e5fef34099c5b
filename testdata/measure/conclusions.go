package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// conclusions asks this tree's replay about labelled recordings: see the command conclusions.
func (m *measure) conclusions() error {
	tool := filepath.Join(m.work, "tools", "conclusions")
	if err := compile(".", filepath.Dir(tool), "./testdata/measure/conclusions"); err != nil {
		return err
	}
	sample := 0
	if m.short {
		sample = 4
	}
	for _, set := range []string{"tuned", "kept"} {
		cmd := exec.Command(tool, "-replay", m.now().replay(), "-set", set, "-sample", strconv.Itoa(sample), "-only", m.only)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("conclusions: %w", err)
		}
		m.tables["conclusions "+set] = string(out)
	}
	return nil
}
