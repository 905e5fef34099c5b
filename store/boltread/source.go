package boltread

import (
	"io"
	"os"
)

// Source is a database file, or its bytes.
type Source interface {
	io.ReaderAt
	// Size returns the current length in bytes.
	Size() (int64, error)
}

// FileSource returns a Source that reads from an open file. It needs only read permission and
// never locks.
func FileSource(f *os.File) Source { return fileSource{f} }

type fileSource struct{ *os.File }

func (f fileSource) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// bytesSource reads from memory.
type bytesSource []byte

func (b bytesSource) Size() (int64, error) { return int64(len(b)), nil }

func (b bytesSource) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readFull reads exactly len(p) bytes.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
