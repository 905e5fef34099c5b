package clickhouse

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A body is the rows of a table, to be sent. It is compressed a megabyte at a time in
// ClickHouse's own frames, which every version accepts (decompress=1), while zstd as an HTTP
// encoding came late. A frame is a checksum, a method, two sizes and the data. The checksum is
// left zero, which the settings of the request allow: zstd has its own.
type body struct {
	rows   int
	raw    []byte // not compressed yet
	sealed []byte
}

const (
	frameSize   = 1 << 20
	frameHeader = 16 + 1 + 4 + 4
	methodZSTD  = 0x90
)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(frameSize))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// done ends a row.
func (b *body) done() {
	b.rows++
	if len(b.raw) >= frameSize {
		b.seal()
	}
}

func (b *body) seal() {
	if len(b.raw) == 0 {
		return
	}
	from := len(b.sealed)
	b.sealed = append(b.sealed, make([]byte, frameHeader)...)
	b.sealed = encoder().EncodeAll(b.raw, b.sealed)
	header := b.sealed[from:]
	header[16] = methodZSTD
	binary.LittleEndian.PutUint32(header[17:], uint32(len(header)-16))
	binary.LittleEndian.PutUint32(header[21:], uint32(len(b.raw)))
	b.raw = b.raw[:0]
}
