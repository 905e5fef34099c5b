package chunk

import (
	"errors"
	"hash/crc32"
	"math/bits"
)

// ErrMended says that what was read was damaged and is whole again.
var ErrMended = errors.New("one bit of it was wrong; it is read as it was written")

// maxMended bounds what is put right: bytes that are wrong in many places look like
// bytes with one wrong bit once in 2^32 / (8 × their number) cases.
const maxMended = 64 << 10

// Mend puts b right if all that is wrong with it is one bit, given its checksum as it
// was written. The checksum tells single bits apart in far longer strings than these,
// and never takes two wrong bits for one. Mend reports whether b is right now, and how
// many bits of it had to be turned: none, too, if it is the checksum that has the
// wrong bit.
func Mend(b []byte, sum uint32) (turned int, ok bool) {
	differs := crc32.Checksum(b, castagnoli) ^ sum
	switch {
	case bits.OnesCount32(differs) <= 1:
		return 0, true
	case len(b) > maxMended:
		return 0, false
	}
	// What each bit of the last byte does to the checksum; of the byte before, it does
	// the same and a byte of zeros follows.
	var does [8]uint32
	for bit := range does {
		does[bit] = castagnoli[1<<bit]
	}
	for at := len(b) - 1; at >= 0; at-- {
		for bit, d := range does {
			if d == differs {
				b[at] ^= 1 << bit
				return 1, true
			}
			does[bit] = castagnoli[d&0xff] ^ d>>8
		}
	}
	return 0, false
}
