package out

import (
	"bufio"
	"io"
	"time"
)

// stream flushes the first row at once, later rows by size and by time. So output appears as it
// is made, with few writes.
type stream struct {
	*bufio.Writer
	to    io.Writer
	zone  *time.Location
	rows  int
	shown time.Time
}

func newStream(w io.Writer, zone *time.Location) stream {
	return stream{Writer: bufio.NewWriterSize(w, pieceBytes), to: w, zone: zone}
}

const (
	flushEvery = 100 * time.Millisecond
	checkRows  = 256
	pieceBytes = 64 << 10
)

func (s *stream) wrote() error {
	s.rows++
	if s.rows != 1 && s.rows%checkRows != 0 {
		return nil
	}
	return s.show()
}

// show flushes after the first row, and later if the last flush was long enough ago.
func (s *stream) show() error {
	if now := time.Now(); s.rows == 1 || now.Sub(s.shown) >= flushEvery {
		s.shown = now
		return s.Flush()
	}
	return nil
}
