package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"tachograph/store/varint"
)

// Limits on what packed bytes may unpack to, by content: far above what a recorder writes, and
// low enough that a foreign file cannot fill a machine's memory.
const (
	MaxDescs     = 16 << 20 // descriptions of metrics
	MaxConfig    = 1 << 20  // a configuration
	maxEvents    = 32 << 20 // a batch of events
	maxText      = 64 << 20 // the strings or the frames of a chunk: twice what a tick may bring
	maxAbsences  = 16 << 20 // per column
	maxSummaries = 32 << 20 // per group

	// unpackedFree bytes are always allowed. Beyond them, a packed byte may become up to
	// unpackedPerByte.
	unpackedFree    = 1 << 20
	unpackedPerByte = 4096

	// untoldSize is the length of the longest content for which zstd leaves the length out.
	untoldSize = 255
)

// zstdWriter uses the fastest level, and a window that fits most of what is packed. A recorder
// keeps it in memory, and the next level's tables would take several megabytes to save a few
// kilobytes a day.
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

// ErrMuchText says that a chunk would have more text than its readers accept.
var ErrMuchText = fmt.Errorf("its text is more than the %d MB that a chunk holds", maxText>>20)

var errPacked = errors.New("a packed part is not what it says")

// Unpack is the inverse of Pack. It returns at most limit bytes.
func Unpack(in []byte, limit int) ([]byte, error) {
	switch {
	case len(in) > 0 && in[0] == 0 && len(in)-1 <= limit:
		return in[1:], nil
	case len(in) > 0 && in[0] == 1:
		// The frame gives the length of its content, unless the content is short. It is checked
		// before any memory is allocated.
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
		return nil, errPacked // Each takes at least a byte.
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
