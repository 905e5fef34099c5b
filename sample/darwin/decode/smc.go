package decode

import (
	"encoding/binary"
	"math"
)

// SMCSize is the size of a request to the SMC and of its answer.
const SMCSize = 80

// The commands to the SMC, and its answer for an unknown key.
const (
	SMCRead     = 5
	SMCInfo     = 9
	SMCNotFound = 0x84
)

// SMCRequest writes the request for a key of four characters into b, which has SMCSize bytes.
// size is the length of the value, known from an earlier SMCInfo; it is 0 in an SMCInfo request.
func SMCRequest(b []byte, key string, command byte, size uint32) {
	clear(b)
	binary.LittleEndian.PutUint32(b[SMCKey.Off:], fourCC(key))
	binary.LittleEndian.PutUint32(b[SMCDataSize.Off:], size)
	b[SMCCommand.Off] = command
}

// fourCC packs four characters, the first into the highest byte.
func fourCC(s string) uint32 {
	var v uint32
	for i := range 4 {
		v <<= 8
		if i < len(s) {
			v |= uint32(s[i])
		}
	}
	return v
}

// SMCType returns the name of a value's encoding from its key's info.
func SMCType(v uint32) string {
	return string([]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// SMCValue decodes a value; false if the encoding is unknown or the bytes do not fit it. Apple
// silicon answers in little-endian floats, Intel Macs in big-endian integers and fixed-point
// numbers.
func SMCValue(encoding string, b []byte) (float64, bool) {
	switch encoding {
	case "flt ":
		if len(b) == 4 {
			f := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
			if !math.IsNaN(f) && !math.IsInf(f, 0) {
				return f, true
			}
		}
	case "ui8 ", "flag":
		if len(b) == 1 {
			return float64(b[0]), true
		}
	case "si8 ":
		if len(b) == 1 {
			return float64(int8(b[0])), true
		}
	case "ui16":
		if len(b) == 2 {
			return float64(binary.BigEndian.Uint16(b)), true
		}
	case "si16":
		if len(b) == 2 {
			return float64(int16(binary.BigEndian.Uint16(b))), true
		}
	case "ui32":
		if len(b) == 4 {
			return float64(binary.BigEndian.Uint32(b)), true
		}
	case "ioft":
		if len(b) == 8 {
			return float64(int64(binary.LittleEndian.Uint64(b))) / 65536, true
		}
	default:
		return smcFixed(encoding, b)
	}
	return 0, false
}

// smcFixed decodes the fixed-point encodings, whose names give the number of binary places:
// "fpe2" is unsigned with 14 bits before the point and 2 after it, "sp78" signed with 7 and 8.
func smcFixed(encoding string, b []byte) (float64, bool) {
	if len(encoding) != 4 || len(b) != 2 {
		return 0, false
	}
	whole, fraction := hexDigit(encoding[2]), hexDigit(encoding[3])
	raw := binary.BigEndian.Uint16(b)
	switch {
	case encoding[:2] == "fp" && whole+fraction == 16:
		return float64(raw) / float64(uint32(1)<<fraction), true
	case encoding[:2] == "sp" && whole+fraction == 15:
		return float64(int16(raw)) / float64(uint32(1)<<fraction), true
	}
	return 0, false
}

// hexDigit returns the value of a hexadecimal digit, or for other characters a number that is
// too large.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return 99
}
