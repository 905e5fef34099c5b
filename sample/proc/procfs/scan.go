package procfs

import "math"

// field returns the next run of bytes that are not blank, and what follows it.
func field(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' && b[j] != '\n' {
		j++
	}
	return b[i:j], b[j:]
}

// line returns the next line without its end, and what follows it.
func line(b []byte) (text, rest []byte) {
	for i, c := range b {
		if c == '\n' {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

// uint reads a decimal number. A number beyond 64 bits is not one.
func uint(b []byte) (v uint64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || v > math.MaxUint64/10 || v*10 > math.MaxUint64-d {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}

// integer reads a decimal number that may be negative, as two's complement.
// The kernel prints the same field signed in one release and unsigned in the
// next (rsslim is the best known), so the whole of both ranges is accepted.
func integer(b []byte) (v uint64, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		v, ok = uint(b[1:])
		return -v, ok && v <= 1<<63
	}
	return uint(b)
}
