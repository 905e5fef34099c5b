package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"tachograph/sample/metric"
)

// A Reader reads the records of one journal file, which may be growing.
type Reader struct {
	src  io.ReaderAt
	head Header
	dec  *Decoder // nil until the first record
	make func(indom, key string) *metric.Instance
	// later says that the rows of ticks are left for later.
	later bool
	rec   Record
	buf   []byte
	from  int // the unread part of buf
	// stale means that io.EOF was returned: more may have been written since buf was read.
	stale bool
	off   int64
	crc   uint32
	err   error
}

// NewReader opens a journal. A file that holds no complete header yet gives io.EOF, and one that
// is no journal gives ErrNotJournal. intern makes instances, see NewDecoder. room is a buffer, or
// nil.
func NewReader(src io.ReaderAt, intern func(indom, key string) *metric.Instance, room []byte) (*Reader, error) {
	r := &Reader{src: src, make: intern, buf: room[:0]}
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

// Header returns the file's header.
func (r *Reader) Header() Header { return r.head }

// Offset returns where the next record begins, or the one that cannot be decoded.
func (r *Reader) Offset() int64 { return r.off }

// Next returns the next record, valid until the call after. It returns io.EOF if no further
// sound record follows: at the end of the file, or where its last write was cut short. The file
// may have grown by the next call.
func (r *Reader) Next() (*Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	body, size, sum, err := r.frame()
	if err != nil {
		return nil, err
	}
	if r.dec == nil {
		r.dec = NewDecoder(r.head.together, r.make)
		if r.later {
			r.dec.later = keptOf(r.dec.s)
		}
	}
	if err := r.dec.Decode(body, &r.rec); err != nil {
		r.err = fmt.Errorf("record %d at byte %d: %w", r.rec.Seq+1, r.off, err)
		return nil, r.err
	}
	r.pass(size, sum)
	r.rec.Seq++
	return &r.rec, nil
}

// readAhead is how many bytes are read at a time.
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
		// A frame that looks wrong may have been written since buf was read. A mark behind the
		// last frame is the end, unless buf is stale.
		if refilled || !r.stale && r.marked(r.buf[r.from:]) {
			if err == errShort && r.more(size) {
				continue
			}
			r.stale = true
			return nil, 0, 0, io.EOF
		}
		if err := r.refill(readAhead); err != nil {
			return nil, 0, 0, err
		}
		refilled, r.stale = true, false
	}
}

// marked reports whether in begins with the mark behind the last frame.
func (r *Reader) marked(in []byte) bool {
	var room [MarkSize]byte
	return len(in) >= MarkSize && string(in[:MarkSize]) == string(appendMark(room[:0], r.crc))
}

// pass moves past the frame at r.off.
func (r *Reader) pass(size int, sum uint32) {
	r.from += size
	r.off += int64(size)
	r.crc = sum
}

// more reads a frame of that size completely, and reports whether the file has so much.
func (r *Reader) more(size int) bool {
	return size > len(r.buf)-r.from && r.refill(size) == nil && len(r.buf) >= size
}

// refill reads n bytes from r.off, or fewer at the end of the file.
func (r *Reader) refill(n int) error {
	if cap(r.buf) < n {
		// A damaged length must not make the reader allocate memory: check first that the file
		// is that long.
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

// sector is how many bytes a drive writes completely or not at all.
const sector = 512

// ended reports whether the file ends with its last sound record, or a mark says that it does.
func (r *Reader) ended() bool {
	var b [MarkSize]byte
	n, err := r.src.ReadAt(b[:], r.off)
	return n == 0 && errors.Is(err, io.EOF) || r.marked(b[:n])
}

// behind returns how a file of that size ends behind the last sound record, and how many bytes
// there are not sound.
func (r *Reader) behind(size int64) (v Verdict, rest int64) {
	if rest = size - r.off; rest <= 0 || r.ended() {
		return Whole, 0
	}
	b := make([]byte, min(rest, readAhead))
	n, err := r.src.ReadAt(b, r.off)
	if n < len(b) && err != nil && !errors.Is(err, io.EOF) {
		return Damaged, rest
	}
	b = b[:n]
	length, k := binary.Uvarint(b)
	need := int64(MarkSize)
	if k > 0 && length > 0 && length <= maxFrame {
		need = int64(k) + int64(length) + crcSize
	}
	// A file system may have allocated space that was never written.
	empty := !slices.ContainsFunc(b, func(c byte) bool { return c != 0 })
	if need > rest || empty || r.torn(need) {
		return CutShort, rest
	}
	return Damaged, rest
}

// torn reports whether the need bytes behind the last sound record, with neither a sound record
// nor a mark, may be what a crash left of a record, mixed with what the file held earlier. Then
// no sound frame follows them. And since each record is written together with the mark behind
// it, either its beginning shares no sector with the record before it, or its end is in another
// sector than its beginning.
func (r *Reader) torn(need int64) bool {
	sum := make([]byte, crcSize)
	if _, err := r.src.ReadAt(sum, r.off+need-crcSize); err == nil {
		next := Reader{src: r.src, off: r.off + need, crc: binary.LittleEndian.Uint32(sum)}
		if _, _, _, err := next.frame(); err == nil {
			return false
		}
	}
	return r.off%sector == 0 || r.off/sector != (r.off+max(need, MarkSize)-1)/sector
}
