package chunk

import (
	"errors"
	"hash/crc32"
	"math/bits"
)

// ErrMended says that what was read was damaged and has been repaired.
var ErrMended = errors.New("one bit of it was wrong; it is read as it was written")

// maxMended is the length of the longest string that Mend repairs. A string with many wrong
// bits has the checksum of one with a single wrong bit in one of 2^32 / (8 × length) cases, and
// Mend would then add another error.
const maxMended = 64 << 10

// Mend flips the one bit of b that is wrong, given the checksum that b was written with. Each
// single bit changes the checksum in its own way, and no two bits together change it as a
// single one does. Mend reports whether b is right now. It is also right if the wrong bit is in
// the checksum. If more than one bit is wrong, Mend does not change b.
func Mend(b []byte, sum uint32) bool {
	differs := crc32.Checksum(b, castagnoli) ^ sum
	switch {
	case bits.OnesCount32(differs) <= 1:
		return true
	case len(b) > maxMended:
		return false
	}
	// How each bit of a byte changes the checksum, for the last byte first. In the byte
	// before it, a bit changes the checksum as if a byte of zeros were appended.
	var does [8]uint32
	for bit := range does {
		does[bit] = castagnoli[1<<bit]
	}
	for at := len(b) - 1; at >= 0; at-- {
		for bit, d := range does {
			if d == differs {
				b[at] ^= 1 << bit
				return true
			}
			does[bit] = castagnoli[d&0xff] ^ d>>8
		}
	}
	return false
}
