package main

import (
	"os"

	"golang.org/x/sys/unix"

	"tachograph/cmd/internal/visible"
)

// terminal finds out what the outputs are, and what they may be sent.
func (a *app) terminal(stdout, stderr *os.File) {
	if size, err := unix.IoctlGetWinsize(int(stdout.Fd()), unix.TIOCGWINSZ); err == nil {
		a.width = int(size.Col)
		a.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	_, err := unix.IoctlGetWinsize(int(stderr.Fd()), unix.TIOCGWINSZ)
	a.progress = err == nil
	a.stdout, a.stderr = visible.NewWriter(stdout, a.color), visible.NewWriter(stderr, a.progress)
}
