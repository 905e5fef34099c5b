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

// uint reads a decimal number. It rejects numbers beyond 64 bits.
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

// nextInteger reads the next word of b as a decimal number. A negative number is returned as
// two's complement; after is nil if there is no word. The kernel prints the same field signed
// in one release and unsigned in the next (rsslim is the best known), so the whole of both
// ranges is accepted.
func nextInteger(b []byte) (v uint64, after []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	if i == len(b) || b[i] == '\n' {
		return 0, nil, true
	}
	negative := b[i] == '-'
	if negative {
		i++
	}
	first := i
	for i < len(b) {
		d := uint64(b[i] - '0')
		if d > 9 {
			break
		}
		if v >= math.MaxUint64/10 && (v > math.MaxUint64/10 || d > math.MaxUint64%10) {
			return 0, nil, false
		}
		v = v*10 + d
		i++
	}
	if i == first || i < len(b) && b[i] != ' ' && b[i] != '\t' && b[i] != '\n' {
		return 0, nil, false
	}
	if negative {
		return -v, b[i:], v <= 1<<63
	}
	return v, b[i:], true
}
