package pdu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrLength is the error for a message that is longer than a Reader accepts, or whose length is
// less than its header's. The stream cannot be read further.
var ErrLength = errors.New("a PDU of a length that cannot be")

// A Reader reads messages from a stream.
type Reader struct {
	r   io.Reader
	max int
	buf []byte
}

// NewReader reads messages of at most max bytes from r.
func NewReader(r io.Reader, max int) *Reader { return &Reader{r: r, max: max} }

const (
	// room is the size of a Reader's first buffer; most requests are shorter.
	room = 1 << 10
	// keep is the largest buffer that it keeps from one message to the next.
	keep = 64 << 10
)

// Frame returns the bytes of the next message, which are valid until the next call. At the end
// of the stream it returns io.EOF, within a message io.ErrUnexpectedEOF.
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
	// The buffer grows with the bytes that have arrived, not with the announced length.
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

// Next returns the next message. After a [*Malformed], whose message was read completely, it can
// be called again, but not after any other error.
func (r *Reader) Next() (from int32, m Message, err error) {
	b, err := r.Frame()
	if err != nil {
		return 0, nil, err
	}
	from, m, err = Parse(b)
	if cap(r.buf) > keep {
		r.buf = nil // the next message may be long in coming
	}
	return from, m, err
}
