package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// cost is what runs of a command took, including process start.
type cost struct {
	wall, cpu []float64 // ms
	resident  float64   // MB, the greatest of all runs
	lines     int       // of output
	gaveUp    bool
	busy      bool // the machine has other work
}

// figure returns the figure for a table: the median of the elapsed time or, on a busy machine,
// the least processor time.
func (c *cost) figure() float64 {
	if c.busy {
		return c.leastCPU()
	}
	return median(c.wall)
}

func (c *cost) least() float64    { return slices.Min(c.wall) }
func (c *cost) leastCPU() float64 { return slices.Min(c.cpu) }

// pace returns how many million lines a second it wrote.
func (c *cost) pace() float64 { return float64(c.lines) / 1e3 / c.figure() }

// patience is how long a command may take; commands that take longer than slow are run only
// once.
const (
	patience = 60 * time.Second
	slow     = 8 * time.Second
)

// once runs a command and adds what it took to c. A process that does nothing else runs it (see
// timed), because the kernel's figure for a process's memory begins with that of its parent.
func (c *cost) once(program string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.Command(self, append([]string{timedCommand, program}, args...)...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	var t taken
	if err := json.Unmarshal(out, &t); err != nil {
		return err
	}
	if t.GaveUp {
		c.gaveUp = true
		return nil
	}
	c.wall, c.cpu = append(c.wall, t.Wall), append(c.cpu, t.CPU)
	c.resident, c.lines = max(c.resident, t.Resident), t.Lines
	return nil
}

// job is a command to measure.
type job struct {
	program string
	args    []string
	dir     string // of its archives
	cost    cost
}

// inTurn runs jobs n times, one after the other, so that other work of the machine affects all
// of them. Each runs once before, which does not count, unless pages are dropped.
func inTurn(jobs []*job, n int, cold bool) error {
	for i := range n + 1 {
		for _, j := range jobs {
			if j.cost.gaveUp || len(j.cost.wall) > 0 && j.cost.wall[0] > slow.Seconds()*1e3 {
				continue
			}
			if cold {
				if err := dropPages(j.dir); err != nil {
					return err
				}
			}
			trial := cost{busy: j.cost.busy}
			to := &j.cost
			if i == 0 && !cold {
				to = &trial
			}
			if err := to.once(j.program, j.args); err != nil {
				return err
			}
			if trial.gaveUp || len(trial.wall) > 0 && trial.wall[0] > slow.Seconds()*1e3 {
				j.cost = trial
			}
		}
	}
	return nil
}

// dropPages drops the kernel's cache of the files in dir.
func dropPages(dir string) error {
	return shell(`for f in "$1"/*; do [ ! -f "$f" ] || dd if="$f" iflag=nocache count=0 status=none; done`, dir)
}
