package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"tachograph/sample/metric"
)

// A Reader reads the records of one journal file, which may be growing.
type Reader struct {
	src  io.ReaderAt
	head Header
	dec  *Decoder // nil until there is something to decode
	make func(indom, key string) *metric.Instance
	rec  Record
	buf  []byte
	from int // the unread part of buf
	off  int64
	crc  uint32
	err  error
}

// NewReader opens a journal. A file that holds no complete header yet gives
// io.EOF, and one that is no journal an error that is ErrNotJournal. Instances
// are made by intern, see NewDecoder.
func NewReader(src io.ReaderAt, intern func(indom, key string) *metric.Instance) (*Reader, error) {
	r := &Reader{src: src, make: intern}
	start := make([]byte, len(magic))
	n, err := src.ReadAt(start, 0)
	switch {
	case string(start[:n]) != magic[:n]:
		return nil, ErrNotJournal
	case n < len(magic) && errors.Is(err, io.EOF):
		return nil, io.EOF
	case n < len(magic):
		return nil, err
	}
	r.off = int64(len(magic))
	r.crc = crc32.Checksum(start, castagnoli)
	body, size, sum, err := r.frame()
	if err != nil {
		return nil, err
	}
	if r.head, err = parseHeader(body); err != nil {
		return nil, err
	}
	r.pass(size, sum)
	r.rec.Seq = r.head.Base
	return r, nil
}

// Header is the file's.
func (r *Reader) Header() Header { return r.head }

// Offset is where the next record begins, or one that cannot be decoded.
func (r *Reader) Offset() int64 { return r.off }

// Next returns the next record, valid until the call after. It returns io.EOF
// where no further sound record stands: at the end of the file, or where its
// last write was cut short. The file may have grown when it is called again.
func (r *Reader) Next() (*Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	body, size, sum, err := r.frame()
	if err != nil {
		return nil, err
	}
	if r.dec == nil {
		r.dec = NewDecoder(r.make)
	}
	if err := r.dec.Decode(body, &r.rec); err != nil {
		r.err = fmt.Errorf("record %d at byte %d: %w", r.rec.Seq+1, r.off, err)
		return nil, r.err
	}
	r.pass(size, sum)
	r.rec.Seq++
	return &r.rec, nil
}

// readAhead is how much is read at a time.
const readAhead = 1 << 16

// frame returns the body of the frame at r.off, its length in the file and its
// checksum.
func (r *Reader) frame() (body []byte, size int, sum uint32, err error) {
	refilled := false
	for {
		body, size, sum, err := cutFrame(r.buf[r.from:], r.crc)
		if err == nil {
			return body, size, sum, nil
		}
		// What looked wrong may have been written since it was read.
		if refilled {
			if err == errShort && r.more(size) {
				continue
			}
			return nil, 0, 0, io.EOF
		}
		if err := r.refill(readAhead); err != nil {
			return nil, 0, 0, err
		}
		refilled = true
	}
}

// pass goes on behind the frame at r.off.
func (r *Reader) pass(size int, sum uint32) {
	r.from += size
	r.off += int64(size)
	r.crc = sum
}

// more reads as much as a frame of size needs, and reports whether the file
// has it.
func (r *Reader) more(size int) bool {
	return size > len(r.buf)-r.from && r.refill(size) == nil && len(r.buf) >= size
}

// refill reads n bytes from r.off, or fewer at the end of the file.
func (r *Reader) refill(n int) error {
	if cap(r.buf) < n {
		// A length that damage made up must not become memory: look whether
		// the file goes on that far.
		if n > readAhead {
			var one [1]byte
			if k, err := r.src.ReadAt(one[:], r.off+int64(n)-1); k == 0 {
				if err == nil || errors.Is(err, io.EOF) {
					return io.EOF
				}
				return err
			}
		}
		r.buf = make([]byte, n)
	}
	k, err := r.src.ReadAt(r.buf[:n], r.off)
	r.buf, r.from = r.buf[:k], 0
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// cutShort reports whether the size bytes behind the last sound record look like
// one of which the end was never written, as a crash leaves it, and not like
// damage.
func (r *Reader) cutShort(size int64) bool {
	rest := make([]byte, min(size, readAhead))
	n, err := r.src.ReadAt(rest, r.off)
	if n < len(rest) && err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	rest = rest[:n]
	if _, need, _, err := cutFrame(rest, r.crc); err == errShort && int64(need) > size {
		return true
	}
	// A file system may have made room for what was never written.
	for _, b := range rest {
		if b != 0 {
			return false
		}
	}
	return true
}
