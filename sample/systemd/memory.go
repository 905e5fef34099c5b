package systemd

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"tachograph/sample/xz"
)

// memory is what the reading of files takes besides the files themselves. Files that are read by
// one goroutine share it.
type memory struct {
	blocks [16]block
	joined [blockSize]byte // of what lies in two blocks
	large  []byte
	text   []byte
	zstd   *zstd.Decoder
}

const (
	blockSize = 4096
	// maxWindow is the memory that a compressed field may take. A field that is longer cannot be
	// read where it is compressed as one.
	maxWindow = 1 << 20
)

// block is a part of a file as it was read.
type block struct {
	file   *File
	number uint64
	size   int
	bytes  []byte
}

// forget drops the blocks of a file that has changed.
func (m *memory) forget(f *File) {
	for i := range m.blocks {
		if m.blocks[i].file == f {
			m.blocks[i].file = nil
		}
	}
}

// block returns one of a file's, which is shorter at the end of the file.
func (m *memory) block(f *File, number uint64) ([]byte, error) {
	b := &m.blocks[number%uint64(len(m.blocks))]
	if b.file == f && b.number == number {
		return b.bytes[:b.size], nil
	}
	if b.bytes == nil {
		b.bytes = make([]byte, blockSize)
	}
	b.file = nil
	n, err := f.r.ReadAt(b.bytes, int64(number*blockSize))
	f.spent += blockSize
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b.file, b.number, b.size = f, number, n
	return b.bytes[:n], nil
}

// read returns at most blockSize bytes, until the next call.
func (m *memory) read(f *File, at uint64, n int) ([]byte, error) {
	number, from := at/blockSize, int(at%blockSize)
	b, err := m.block(f, number)
	if err != nil {
		return nil, err
	}
	if from+n <= len(b) {
		return b[from : from+n], nil
	}
	if from > len(b) || len(b) < blockSize {
		return nil, errDamaged
	}
	got := copy(m.joined[:n], b[from:])
	if b, err = m.block(f, number+1); err != nil {
		return nil, err
	}
	if copy(m.joined[got:n], b) < n-got {
		return nil, errDamaged
	}
	return m.joined[:n], nil
}

// readLong reads what is longer than a block.
func (m *memory) readLong(f *File, at uint64, n int) ([]byte, error) {
	if cap(m.large) < n {
		m.large = make([]byte, n)
	}
	got, err := f.r.ReadAt(m.large[:n], int64(at))
	f.spent += int64(got)
	if err != nil {
		return nil, errDamaged
	}
	return m.large[:n], nil
}

// unpack returns what is compressed as an object's flags say, up to limit bytes.
func (m *memory) unpack(f *File, flags byte, packed []byte, limit int) (text []byte, err error) {
	m.text = m.text[:0]
	switch flags {
	case isXZ:
		m.text, err = xz.Append(m.text, packed, limit)
	case isLZ4:
		if len(packed) < 8 { // the size of the text
			return nil, errPacked
		}
		m.text, err = appendLZ4(m.text, packed[8:], limit)
	case isZSTD:
		var head zstd.Header
		if err := head.Decode(packed); err != nil {
			return nil, err
		}
		block := head.WindowSize
		if head.SingleSegment {
			block = head.FrameContentSize
		}
		f.spent += int64(min(block, maxBlock)) // which is unpacked as a whole
		m.text, err = m.unpackZSTD(packed, limit)
	default:
		err = errDamaged
	}
	f.spent += int64(len(m.text))
	return m.text, err
}

// maxBlock is the size of the largest block of zstd.
const maxBlock = 128 << 10

func (m *memory) unpackZSTD(packed []byte, limit int) (text []byte, err error) {
	if m.zstd == nil {
		m.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
	}
	if err := m.zstd.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	text = slices.Grow(m.text, limit)[:limit]
	got := 0
	for got < limit && err == nil {
		var n int
		n, err = m.zstd.Read(text[got:])
		got += n
	}
	if errors.Is(err, io.EOF) || got == limit {
		err = nil
	}
	return text[:got], err
}
