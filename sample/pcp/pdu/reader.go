package pdu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrLength is the error of a message that is longer than a Reader takes, or says that it
// is shorter than its header. The stream cannot be read on.
var ErrLength = errors.New("a PDU of a length that cannot be")

// A Reader takes messages from a stream.
type Reader struct {
	r   io.Reader
	max int
	buf []byte
}

// NewReader reads messages of at most max bytes from r.
func NewReader(r io.Reader, max int) *Reader { return &Reader{r: r, max: max} }

const (
	// room is what a Reader makes room for at first; most requests are shorter.
	room = 1 << 10
	// keep is what it keeps from one message to the next.
	keep = 64 << 10
)

// Frame is the bytes of the next message, which stay until the next call. At the end of
// the stream it is io.EOF, within a message io.ErrUnexpectedEOF.
func (r *Reader) Frame() ([]byte, error) {
	if r.buf == nil || cap(r.buf) > keep {
		r.buf = make([]byte, room)
	}
	b := r.buf[:HeaderSize]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(b))
	switch {
	case size < HeaderSize:
		return nil, fmt.Errorf("%w: %d bytes, less than its header", ErrLength, size)
	case size > int64(r.max):
		return nil, fmt.Errorf("%w: %d bytes of %v, where %d are allowed", ErrLength, size, Kind(binary.BigEndian.Uint32(b[4:])), r.max)
	}
	// Room is made for what has come, and not for what was announced.
	for have := HeaderSize; have < int(size); have = len(b) {
		if have == cap(r.buf) {
			r.buf = append(make([]byte, 0, min(4*have, int(size))), b...)
		}
		b = r.buf[:min(cap(r.buf), int(size))]
		if _, err := io.ReadFull(r.r, b[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return b, nil
}

// Next is the next message. After a [*Malformed], which was the whole of one, it can be
// called again, and not after any other error.
func (r *Reader) Next() (from int32, m Message, err error) {
	b, err := r.Frame()
	if err != nil {
		return 0, nil, err
	}
	from, m, err = Parse(b)
	if cap(r.buf) > keep {
		r.buf = nil // it may be long until the next
	}
	return from, m, err
}
