package out

import (
	"io"
	"runtime"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
)

// A batch has that many rows, of that many series, at most. The first rows of an answer are in none.
const (
	batchRows  = 8 << 10
	batchParts = 512
)

// A bulk writes rows one by one, and the rows of series in bulk. In a long answer it formats and
// writes one batch of rows while its caller reads the next one.
type bulk struct {
	stream
	// end appends what follows the time and the fields after it: the value, and the end of the row.
	end   func(b []byte, p *Points, i int) []byte
	stamp stampCache // of single rows
	ticks ticks

	piece   []byte // rows of series that are not yet written
	plain   bool   // piece has nothing but printable ASCII and line ends
	tail    []byte // of the last row, after the time
	checked int    // rows when it last looked at how long they had waited

	long         bool // it works in batches
	flushed      int  // rows at the last Flush
	batch, spare *batch
	began        time.Time  // when the first row of the batch came
	done         chan error // set while a batch is being written
	failed       error      // of the first write that failed
}

func newBulk(w io.Writer, zone *time.Location) bulk {
	return bulk{stream: newStream(w, zone), plain: true}
}

// A batch has points of successive series.
type batch struct {
	parts []part
	wall  []int64
	bits  []uint64
	miss  []metric.Reason
	text  []byte // before and after the time of each part
}

// A part is the points of one series in a batch.
type part struct {
	rows, before, after int // how many there are, and the lengths of their texts
	missing, plain      bool
	shape               Points // without the points
}

// plainWriter is a visible.Writer.
type plainWriter interface {
	// WritePlain writes what is printable ASCII and line ends.
	WritePlain(b []byte) (int, error)
}

// row writes a row that is not one of a series.
func (s *bulk) row(b []byte) error {
	if err := s.settle(); err != nil {
		return err
	}
	if _, err := s.Write(b); err != nil {
		return err
	}
	return s.wrote()
}

// series writes the rows of p. Each of them has before in front of the time, and after behind it.
func (s *bulk) series(before, after []byte, p *Points) error {
	plain := p.Type != metric.String && p.Miss == nil && visible.Plain(before) && visible.Plain(after)
	if !s.long {
		s.long = s.rows-s.flushed >= batchRows && runtime.GOMAXPROCS(0) > 1
		return s.format(before, after, p, plain)
	}
	for from := 0; from < len(p.Wall); {
		if s.batch == nil {
			s.batch, s.began = &batch{}, time.Now()
		}
		b := s.batch
		n := min(len(p.Wall)-from, batchRows-len(b.wall))
		due := (len(b.wall)+n)/checkRows != len(b.wall)/checkRows
		b.add(before, after, p, from, n, plain)
		if from += n; len(b.wall) == batchRows || len(b.parts) == batchParts || due && time.Since(s.began) >= flushEvery {
			if err := s.hand(); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds n points of p.
func (b *batch) add(before, after []byte, p *Points, from, n int, plain bool) {
	b.text = append(append(b.text, before...), after...)
	b.wall = append(b.wall, p.Wall[from:from+n]...)
	b.bits = append(b.bits, p.Bits[from:from+n]...)
	if p.Miss != nil {
		b.miss = append(b.miss, p.Miss[from:from+n]...)
	}
	b.parts = append(b.parts, part{n, len(before), len(after), p.Miss != nil, plain, Points{Column: metric.Column{Words: p.Words}, Type: p.Type, Why: p.Why}})
}

// write formats the points, and leaves nothing.
func (b *batch) write(s *bulk) error {
	text, wall, bits, miss := b.text, b.wall, b.bits, b.miss
	for i := range b.parts {
		part := &b.parts[i]
		p := part.shape
		p.Wall, p.Bits = wall[:part.rows], bits[:part.rows]
		wall, bits = wall[part.rows:], bits[part.rows:]
		if part.missing {
			p.Miss, miss = miss[:part.rows], miss[part.rows:]
		}
		before, after := text[:part.before], text[part.before:part.before+part.after]
		text = text[part.before+part.after:]
		if err := s.format(before, after, &p, part.plain); err != nil {
			return err
		}
	}
	clear(b.parts)
	b.parts, b.text, b.wall, b.bits, b.miss = b.parts[:0], b.text[:0], b.wall[:0], b.bits[:0], b.miss[:0]
	return nil
}

// hand has the batch written on another goroutine.
func (s *bulk) hand() error {
	b := s.batch
	if err := s.wait(); err != nil || b == nil {
		return err
	}
	s.batch, s.spare, s.done = s.spare, b, make(chan error, 1)
	s.began = time.Now()
	go func() { s.done <- b.write(s) }()
	return nil
}

// wait returns when the batch that was handed over last is written.
func (s *bulk) wait() error {
	if s.done != nil {
		s.failed = <-s.done
		s.done = nil
	}
	return s.failed
}

// settle returns when all points are formatted, and what they became is in the stream.
func (s *bulk) settle() error {
	if err := s.hand(); err != nil {
		return err
	}
	if err := s.wait(); err != nil {
		return err
	}
	return s.putPiece()
}

// Stop returns when nothing is being written any more. It leaves out the rows that are not yet written.
func (s *bulk) Stop() { _ = s.wait() }

// Flush writes all rows.
func (s *bulk) Flush() error {
	if err := s.settle(); err != nil {
		return err
	}
	s.long, s.flushed = false, s.rows
	return s.stream.Flush()
}

// Close writes all rows.
func (s *bulk) Close() error { return s.Flush() }

// format formats the rows of p, and writes them in large pieces.
func (s *bulk) format(before, after []byte, p *Points, plain bool) error {
	b := s.piece
	s.plain = s.plain && plain
	tail := append(s.tail[:0], after...)
	at := 0
	if len(p.Wall) > 0 {
		at = s.ticks.begin(p.Wall[0])
	}
	for i, wall := range p.Wall {
		if i == 0 || p.Bits[i] != p.Bits[i-1] || p.Miss != nil && p.Miss[i] != p.Miss[i-1] {
			tail = s.end(tail[:len(after)], p, i)
		}
		b = append(b, before...)
		b, at = s.ticks.append(b, wall, at, s.zone)
		b = append(b, tail...)
		if s.rows++; s.rows != 1 && len(b) < pieceBytes {
			continue
		}
		s.piece = b
		if err := s.show(len(b) >= pieceBytes); err != nil {
			return err
		}
		b, s.plain = s.piece, plain
	}
	s.piece, s.tail = b, tail
	return s.show(false)
}

// show writes the piece if it is full, it is the first row, or the last one was written long enough ago.
func (s *bulk) show(full bool) error {
	due := s.rows == 1
	if s.rows/checkRows != s.checked/checkRows {
		s.checked = s.rows
		due = due || time.Since(s.shown) >= flushEvery
	}
	if !due && !full {
		return nil
	}
	if err := s.putPiece(); err != nil || !due {
		return err
	}
	s.shown = time.Now()
	return s.stream.Flush()
}

// putPiece writes the piece, unless a write has failed before.
func (s *bulk) putPiece() error {
	b, plain := s.piece, s.plain
	s.piece, s.plain = b[:0], true
	if s.failed != nil || len(b) == 0 {
		return s.failed
	}
	to, ok := s.to.(plainWriter)
	if !ok || !plain {
		_, s.failed = s.Write(b)
	} else if s.failed = s.stream.Flush(); s.failed == nil {
		_, s.failed = to.WritePlain(b)
	}
	return s.failed
}
