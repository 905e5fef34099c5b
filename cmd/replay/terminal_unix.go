package main

import (
	"cmp"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"tachograph/cmd/internal/visible"
)

// terminal finds out what the outputs are, and what may be written to them.
func (p *page) terminal(stdout, stderr *os.File) {
	if width, height, ok := terminalSize(stdout, os.Getenv); ok {
		p.width, p.height = width, height
		p.terminalOut = true
	}
	_, err := unix.IoctlGetWinsize(int(stderr.Fd()), unix.TIOCGWINSZ)
	p.progress = err == nil
	p.ascii = !visible.UTF8(os.Getenv)
	p.stdout, p.stderr = visible.NewWriter(stdout, false), visible.NewWriter(stderr, p.progress)
}

// wantsColor decides whether tables are coloured. The command line counts most, then what the
// environment forbids, then what it forces, then whether the output is a terminal.
func wantsColor(flag string, terminal bool, env func(string) string) bool {
	force := env("CLICOLOR_FORCE")
	switch {
	case flag != colorAuto:
		return flag == colorAlways
	case env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal && env("TERM") != "dumb" && env("CLICOLOR") != "0"
}

// terminalSize returns the size of a terminal: that of COLUMNS and LINES, else the terminal's
// own, and if that is not known, the usual one. ok is false if f is no terminal.
func terminalSize(f *os.File, env func(string) string) (width, height int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	width, height = sizeOfScreen(int(size.Col), int(size.Row), env)
	return width, height, true
}

// sizeOfScreen returns the size of a terminal that reports its own as columns and lines, 0 if it
// does not know.
func sizeOfScreen(columns, lines int, env func(string) string) (width, height int) {
	asked := func(name string, own, usual int) int {
		if n, err := strconv.Atoi(env(name)); err == nil && n > 0 && n <= 1<<15 {
			return n
		}
		return cmp.Or(own, usual)
	}
	return asked("COLUMNS", columns, 80), asked("LINES", lines, 24)
}
