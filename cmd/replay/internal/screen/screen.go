// Package screen shows pages on a terminal, each in place of the previous one. It uses the
// alternate screen, does not flicker, and restores the terminal.
package screen

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// Escape sequences for terminals.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J" // other screen, no cursor, no wrapping of lines, empty
	leave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H"
	toEnd = "\x1b[K" // of the line
	below = "\x1b[J"
)

// A Screen is a terminal that shows pages.
type Screen struct {
	in, out *os.File
	before  *unix.Termios // nil if in is no terminal
	shown   bool
}

// Open begins to show pages on out, which must be a terminal. If in is also a terminal, it stops
// echoing keys.
func Open(in, out *os.File) (*Screen, error) {
	s := &Screen{in: in, out: out}
	return s, s.Resume()
}

// Resume shows pages again after Leave.
func (s *Screen) Resume() error {
	if t, err := unix.IoctlGetTermios(int(s.in.Fd()), getTermios); err == nil {
		s.before = t
		quiet := *t
		quiet.Lflag &^= unix.ICANON | unix.ECHO
		quiet.Cc[unix.VMIN], quiet.Cc[unix.VTIME] = 1, 0
		if err := unix.IoctlSetTermios(int(s.in.Fd()), setTermios, &quiet); err != nil {
			return err
		}
	}
	s.shown = true
	_, err := s.out.WriteString(enter)
	return err
}

// Leave restores the previous screen and the echo of keys. It may be called more than once.
func (s *Screen) Leave() {
	if !s.shown {
		return
	}
	s.shown = false
	_, _ = s.out.WriteString(leave)
	if s.before != nil {
		_ = unix.IoctlSetTermios(int(s.in.Fd()), setTermios, s.before)
	}
}

// Size returns the size of the terminal.
func (s *Screen) Size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(s.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// Draw shows a page in place of the previous one; if it is too long, only its beginning. The
// caller makes sure that its content is harmless.
func (s *Screen) Draw(page []byte) error {
	_, height := s.Size()
	_, err := s.out.Write(frame(page, height))
	return err
}

// frame returns the bytes that draw a page on a terminal of that many lines.
func frame(page []byte, height int) []byte {
	lines := bytes.Split(bytes.TrimSuffix(page, []byte{'\n'}), []byte{'\n'})
	b := make([]byte, 0, len(page)+8*len(lines))
	b = append(b, home...)
	for i, line := range lines[:min(len(lines), height)] {
		if i > 0 {
			b = append(b, '\r', '\n')
		}
		b = append(append(b, line...), toEnd...)
	}
	return append(b, below...)
}

// Keys calls key for each pressed key, until the input ends. Nothing else ends it.
func (s *Screen) Keys(key func(byte)) {
	if s.before == nil {
		return
	}
	var b [16]byte
	for {
		n, err := s.in.Read(b[:])
		if err != nil || n == 0 {
			return
		}
		for _, k := range b[:n] {
			key(k)
		}
	}
}
