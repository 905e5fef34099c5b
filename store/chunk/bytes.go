package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"tachograph/store/varint"
)

// Limits on what packed bytes may become, by what they hold: far above what a
// recorder writes, and low enough that a stranger's file cannot fill a memory.
const (
	MaxDescs     = 16 << 20 // descriptions of metrics
	MaxConfig    = 1 << 20  // a configuration
	maxEvents    = 32 << 20 // a batch of events
	maxText      = 64 << 20 // the strings or the frames of a chunk: twice what a tick may bring
	maxAbsences  = 16 << 20 // of a column
	maxSummaries = 32 << 20 // of a group

	// unpackedFree is always allowed; beyond it a byte may become so many.
	unpackedFree    = 1 << 20
	unpackedPerByte = 4096

	// untoldSize is the longest content whose length zstd leaves out.
	untoldSize = 255
)

// zstdWriter is of the fastest level, and with a window that most of what is
// packed fits into: a recorder keeps it, and the tables of the next level take
// several megabytes to make some kilobytes a day smaller.
var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return w
})

var zstdReader = sync.OnceValue(func() *zstd.Decoder {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return r
})

// Pack compresses raw: the byte 0 and raw itself, or the byte 1 and a zstd
// frame, whichever is shorter.
func Pack(raw []byte) []byte {
	out := append(make([]byte, 0, len(raw)+1), 0)
	if len(raw) > 32 {
		out[0] = 1
		out = zstdWriter().EncodeAll(raw, out)
	}
	if out[0] == 0 || len(out) > len(raw)+1 {
		out = append(append(out[:0], 0), raw...)
	}
	return out
}

// ErrMuchText says that a chunk would have more text than its readers take.
var ErrMuchText = fmt.Errorf("its text is more than the %d MB that a chunk holds", maxText>>20)

var errPacked = errors.New("a packed part is not what it says")

// Unpack is the inverse of Pack, for what may be at most limit bytes.
func Unpack(in []byte, limit int) ([]byte, error) {
	switch {
	case len(in) > 0 && in[0] == 0 && len(in)-1 <= limit:
		return in[1:], nil
	case len(in) > 0 && in[0] == 1:
		// The frame says how long its content is, unless that is short. What
		// it says is looked at before any memory is taken.
		var head zstd.Header
		if err := head.Decode(in[1:]); err != nil || head.FrameContentSize > uint64(min(limit, unpackedFree+len(in)*unpackedPerByte)) {
			return nil, errPacked
		}
		room := head.FrameContentSize
		if !head.HasFCS {
			room = untoldSize
		}
		raw, err := zstdReader().DecodeAll(in[1:], make([]byte, 0, room))
		if err != nil {
			return nil, errPacked
		}
		return raw, nil
	}
	return nil, errPacked
}

func encodeStrings(out []byte, ss []string) ([]byte, error) {
	if len(ss) == 0 {
		return out, nil
	}
	var raw []byte
	for _, s := range ss {
		raw = binary.AppendUvarint(raw, uint64(len(s)))
		raw = append(raw, s...)
	}
	if len(raw) > maxText {
		return nil, ErrMuchText
	}
	return append(out, Pack(raw)...), nil
}

func decodeStrings(in []byte, n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	raw, err := Unpack(in, maxText)
	if err != nil {
		return nil, err
	}
	if n > len(raw) {
		return nil, errPacked // Each takes a byte at least.
	}
	r := varint.Reader{In: raw}
	ss := make([]string, 0, n)
	for ; n > 0 && !r.Bad; n-- {
		ss = append(ss, r.String())
	}
	if r.Bad || len(r.In) > 0 {
		return nil, errPacked
	}
	return ss, nil
}
