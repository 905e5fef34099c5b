package remote

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// samplesInChunk is how many samples Prometheus puts into a chunk, samplesInFrame how many are
// sent together: less than 100 KB.
const (
	samplesInChunk = 120
	samplesInFrame = 32 * samplesInChunk
)

// chunk holds successive samples in the XOR encoding of Prometheus: for times the differences of
// differences, for values the bits that differ.
type chunk struct {
	from, to int64
	data     []byte
}

func chunksOf(samples []sample) []chunk {
	var list []chunk
	for len(samples) > 0 {
		n := min(len(samples), samplesInChunk)
		list = append(list, chunk{from: samples[0].at, to: samples[n-1].at, data: encode(samples[:n])})
		samples = samples[n:]
	}
	return list
}

// bitWriter appends bits, the highest first.
type bitWriter struct {
	b    []byte
	free uint // unused bits of the last byte
}

func (w *bitWriter) bits(v uint64, n int) {
	for n > 0 {
		if w.free == 0 {
			w.b, w.free = append(w.b, 0), 8
		}
		take := min(uint(n), w.free)
		part := byte(v >> (uint(n) - take) & (1<<take - 1))
		w.b[len(w.b)-1] |= part << (w.free - take)
		w.free -= take
		n -= int(take)
	}
}

func (w *bitWriter) bytes(b []byte) {
	for _, c := range b {
		w.bits(uint64(c), 8)
	}
}

// encode makes a chunk of at most 65,535 samples.
func encode(samples []sample) []byte {
	w := &bitWriter{b: binary.BigEndian.AppendUint16(nil, uint16(len(samples)))}
	var delta uint64
	leading, trailing := -1, 0
	for i, s := range samples {
		switch i {
		case 0:
			w.bytes(binary.AppendVarint(nil, s.at))
			w.bits(math.Float64bits(s.value), 64)
			continue
		case 1:
			delta = uint64(s.at - samples[0].at)
			w.bytes(binary.AppendUvarint(nil, delta))
		default:
			next := uint64(s.at - samples[i-1].at)
			w.difference(int64(next - delta))
			delta = next
		}
		leading, trailing = w.value(math.Float64bits(s.value)^math.Float64bits(samples[i-1].value), leading, trailing)
	}
	return w.b
}

// difference writes how much longer a step is than the last one.
func (w *bitWriter) difference(d int64) {
	fits := func(n uint) bool { return -(int64(1)<<(n-1))+1 <= d && d <= int64(1)<<(n-1) }
	switch {
	case d == 0:
		w.bits(0, 1)
	case fits(14):
		w.bits(0b10, 2)
		w.bits(uint64(d), 14)
	case fits(17):
		w.bits(0b110, 3)
		w.bits(uint64(d), 17)
	case fits(20):
		w.bits(0b1110, 4)
		w.bits(uint64(d), 20)
	default:
		w.bits(0b1111, 4)
		w.bits(uint64(d), 64)
	}
}

// value writes the bits in which a value differs from the last one: in the same bit range as
// before, if they fit, else with their range.
func (w *bitWriter) value(differ uint64, leading, trailing int) (l, t int) {
	if differ == 0 {
		w.bits(0, 1)
		return leading, trailing
	}
	w.bits(1, 1)
	l, t = min(bits.LeadingZeros64(differ), 31), bits.TrailingZeros64(differ)
	if leading >= 0 && l >= leading && t >= trailing {
		w.bits(0, 1)
		w.bits(differ>>trailing, 64-leading-trailing)
		return leading, trailing
	}
	n := 64 - l - t
	w.bits(1, 1)
	w.bits(uint64(l), 5)
	w.bits(uint64(n)&63, 6) // 64 is written as 0
	w.bits(differ>>t, n)
	return l, t
}
