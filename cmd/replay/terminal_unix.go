package main

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"tachograph/cmd/internal/visible"
)

// terminal finds out what the outputs are, and what they may be sent.
func (p *page) terminal(stdout, stderr *os.File) {
	if size, err := unix.IoctlGetWinsize(int(stdout.Fd()), unix.TIOCGWINSZ); err == nil {
		p.width, p.height = int(size.Col), int(size.Row)
		p.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	_, err := unix.IoctlGetWinsize(int(stderr.Fd()), unix.TIOCGWINSZ)
	p.progress = err == nil
	p.ascii = !utf8Locale(os.Getenv)
	p.stdout, p.stderr = visible.NewWriter(stdout, p.color), visible.NewWriter(stderr, p.progress)
}

// utf8Locale reports whether the locale's letters are those of UTF-8. Without a
// locale a Mac's are.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return runtime.GOOS == "darwin"
}
