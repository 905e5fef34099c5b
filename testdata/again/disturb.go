package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// burnArgument makes this program run as a process that disturbs.
const burnArgument = "-be-in-the-way"

// disturb starts busy loops and, if hog > 0, a process that keeps touching hog bytes. quiet ends
// them.
func disturb(loops int, hog int64) (quiet func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var started []*exec.Cmd
	quiet = func() {
		for _, c := range started {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	sizes := make([]int64, loops)
	if hog > 0 {
		sizes = append(sizes, hog)
	}
	for _, bytes := range sizes {
		c := exec.Command(self, burnArgument, strconv.FormatInt(bytes, 10))
		if err := c.Start(); err != nil {
			quiet()
			return nil, fmt.Errorf("a process that disturbs: %w", err)
		}
		started = append(started, c)
	}
	return quiet, nil
}

// burn does not return while its parent process lives: it uses a processor, or touches this many
// bytes of memory, page by page.
func burn(bytes string) {
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		os.Exit(2)
	}
	parent := os.Getppid()
	memory := make([]byte, n)
	for os.Getppid() == parent {
		if n == 0 {
			for end := time.Now().Add(time.Second); time.Now().Before(end); {
			}
			continue
		}
		for i := 0; i < len(memory); i += 4096 {
			memory[i]++
		}
		time.Sleep(100 * time.Millisecond)
	}
	os.Exit(0)
}
