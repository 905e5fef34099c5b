package pcparchive

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// maxRecord is how long a record may be to be read or written. It is kept in memory as a whole,
// and a compressed part may be a thousandth of its contents.
const maxRecord = 1 << 26

// maxWindow is how far decompression may look back: twice what any usual level of zstd and xz
// needs.
const maxWindow = 128 << 20

// compressions are the suffixes of compressed parts.
var compressions = []struct {
	suffix string
	open   func(io.Reader) (io.Reader, error)
}{
	{".gz", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{".bz2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{".xz", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }},
	{".lzma", func(r io.Reader) (io.Reader, error) { return lzma.ReaderConfig{DictCap: maxWindow}.NewReader(r) }},
	{".zst", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	}},
}

// cutCompression splits off the suffix for compression.
func cutCompression(name string) (rest, suffix string) {
	for _, c := range compressions {
		if rest, ok := strings.CutSuffix(name, c.suffix); ok {
			return rest, c.suffix
		}
	}
	return name, ""
}

// frames reads the records of a part, one after the other.
type frames struct {
	name string
	f    *os.File
	zst  *zstd.Decoder
	in   *bufio.Reader
	off  int64 // of the next record, in the decompressed data
	buf  []byte
}

// openFrames opens a part. It is decompressed as it is read.
func openFrames(path string) (*frames, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &frames{name: path, f: f}
	var in io.Reader = bufio.NewReaderSize(f, 1<<16)
	_, suffix := cutCompression(path)
	if suffix == ".xz" {
		err := checkWindows(f)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s cannot be unpacked: %w", path, err)
		}
	}
	for _, c := range compressions {
		if c.suffix != suffix {
			continue
		}
		if in, err = c.open(in); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s cannot be unpacked: %w", path, err)
		}
		r.zst, _ = in.(*zstd.Decoder)
	}
	r.in = bufio.NewReaderSize(in, 1<<16)
	return r, nil
}

func (r *frames) close() {
	if r.zst != nil {
		r.zst.Close()
	}
	if r.f != nil {
		r.f.Close()
	}
}

// A cutError says where an incomplete part ends.
type cutError struct {
	name string
	off  int64
	why  string
}

func (e *cutError) Error() string {
	return fmt.Sprintf("%s is %s at byte %d: what comes before that is read", e.name, e.why, e.off)
}

// next returns the body of the next record, valid until the following one; io.EOF at the end.
func (r *frames) next() ([]byte, error) {
	var word [4]byte
	if n, err := io.ReadFull(r.in, word[:]); err != nil {
		if n == 0 && err == io.EOF {
			return nil, io.EOF
		}
		return nil, r.cut(err)
	}
	size := binary.BigEndian.Uint32(word[:])
	if size < 8 || size > maxRecord {
		return nil, &cutError{r.name, r.off, "damaged"}
	}
	// A length is believed only as far as there are bytes.
	n := int(size) - 4
	r.buf = r.buf[:0]
	for len(r.buf) < n {
		at := len(r.buf)
		r.buf = grow(r.buf, min(n-at, max(1<<16, at)))
		if _, err := io.ReadFull(r.in, r.buf[at:]); err != nil {
			return nil, r.cut(err)
		}
	}
	if binary.BigEndian.Uint32(r.buf[n-4:]) != size {
		return nil, &cutError{r.name, r.off, "damaged"}
	}
	r.off += int64(size)
	return r.buf[:n-4], nil
}

// cut returns the error for a part that ends within a record.
func (r *frames) cut(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return &cutError{r.name, r.off, "cut off"}
	}
	return &cutError{r.name, r.off, "damaged (" + err.Error() + ")"}
}

// A body is the unread rest of a record. Reading beyond its end gives zeros, and sets short.
type body struct {
	b     []byte
	short bool
}

func (b *body) take(n int) []byte {
	if n < 0 || n > len(b.b) {
		b.short, b.b = true, nil
		return nil
	}
	out := b.b[:n]
	b.b = b.b[n:]
	return out
}

func (b *body) word() uint32 {
	if p := b.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// count reads a number of things each of which takes at least each bytes.
func (b *body) count(each int) int {
	n := int32(b.word())
	if n < 0 || int64(n)*int64(each) > int64(len(b.b)) {
		b.short, b.b = true, nil
		return 0
	}
	return int(n)
}

// text reads n bytes with a string that ends at its first NUL.
func (b *body) text(n int) string { return cstring(b.take(n)) }

// time reads a time in the format of the version.
func (b *body) time(version int) int64 {
	if version == 2 {
		sec, usec := int64(int32(b.word())), int64(int32(b.word()))
		return nanos(sec, usec*1000)
	}
	low, high := b.word(), b.word()
	return nanos(int64(high)<<32|int64(low), int64(int32(b.word())))
}

// nanos returns a time; times before 1970 and after 2200 are invalid and become 0.
func nanos(sec, nsec int64) int64 {
	if sec < 0 || sec > 7258118400 || nsec < 0 || nsec >= second {
		return 0
	}
	return sec*second + nsec
}

func cstring(b []byte) string {
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return string(b)
}
