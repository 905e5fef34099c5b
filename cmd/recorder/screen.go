package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/cmd/internal/visible"
)

// screen is standard error: log lines and, on a terminal, a status line below them that is
// rewritten in place.
type screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal *os.File // nil if w is not a terminal
	shown    string
}

func newScreen(w io.Writer) *screen {
	s := &screen{w: w}
	if v, ok := w.(*visible.Writer); ok {
		if f, ok := v.Unwrap().(*os.File); ok && columns(f) > 0 {
			s.terminal = f
		}
	}
	return s
}

// columns returns the width of a terminal; 0 if f is not one.
func columns(f *os.File) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case ws.Col == 0:
		return 80
	}
	return int(ws.Col)
}

// Write writes log lines above the status line.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == "" {
		return s.w.Write(p)
	}
	if _, err := io.WriteString(s.w, visible.EraseLine); err != nil {
		return 0, err
	}
	n, err := s.w.Write(p)
	if err == nil {
		_, err = io.WriteString(s.w, s.shown)
	}
	return n, err
}

// line prints a line that stays.
func (s *screen) line(text string) { fmt.Fprintln(s, text) }

// follow rewrites the status line every second until ctx is done.
func (s *screen) follow(ctx context.Context, status func() string) {
	if s.terminal == nil {
		return
	}
	timer := time.NewTicker(time.Second)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			s.show(status())
		}
	}
}

func (s *screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = visible.Text(text)
	if width := columns(s.terminal); width > 1 {
		text = head(text, width-1)
	}
	s.shown = text
	io.WriteString(s.w, visible.EraseLine+text)
}

// clear erases the status line.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != "" {
		io.WriteString(s.w, visible.EraseLine)
		s.shown = ""
	}
}
