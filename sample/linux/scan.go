package linux

import "bytes"

// The scanners work on the bytes of a file and allocate nothing. They accept any input: what
// does not look like a number is not one.

// line splits off the first line, without its end.
func line(b []byte) (first, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// word splits off the first word, which ends at a blank.
func word(b []byte) (first, rest []byte) {
	i := 0
	for i < len(b) && blank(b[i]) {
		i++
	}
	j := i
	for j < len(b) && !blank(b[j]) {
		j++
	}
	return b[i:j], b[j:]
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// skip drops n words.
func skip(b []byte, n int) []byte {
	for ; n > 0; n-- {
		_, b = word(b)
	}
	return b
}

// unsigned reads all of b as an unsigned decimal number.
func unsigned(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if v > (1<<64-1)/10 || v*10 > 1<<64-1-d {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}

// integer reads all of b as a decimal number that may have a sign. Numbers beyond 2^63, which
// only counters reach, are returned as their bits.
func integer(b []byte) (int64, bool) {
	if len(b) > 0 && b[0] == '-' {
		v, ok := unsigned(b[1:])
		return -int64(v), ok && v <= 1<<63
	}
	v, ok := unsigned(b)
	return int64(v), ok
}

// hex reads all of b as a hexadecimal number.
func hex(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint64(c)
	}
	return v, true
}

// decimal reads all of b as a number with an optional fraction, as the kernel
// prints load averages and uptimes.
func decimal(b []byte) (float64, bool) {
	whole, frac, _ := bytes.Cut(b, dot)
	v, ok := unsigned(whole)
	if !ok {
		return 0, false
	}
	if len(frac) == 0 {
		return float64(v), true
	}
	f, ok := unsigned(frac)
	if !ok || len(frac) > 15 {
		return 0, false
	}
	scale := uint64(1)
	for range frac {
		scale *= 10
	}
	if v < 1<<52/scale {
		// A single division rounds once: the result is the float nearest to the decimal number.
		return float64(v*scale+f) / float64(scale), true
	}
	return float64(v) + float64(f)/float64(scale), true
}

var dot = []byte{'.'}

// words reads unsigned numbers from b into dst and returns how many it read before the first
// word that is not a number.
func words(b []byte, dst []uint64) int {
	for i := range dst {
		var w []byte
		w, b = word(b)
		v, ok := unsigned(w)
		if !ok {
			return i
		}
		dst[i] = v
	}
	return len(dst)
}

// integers is words for numbers that may have a sign.
func integers(b []byte, dst []int64) int {
	for i := range dst {
		var w []byte
		w, b = word(b)
		v, ok := integer(w)
		if !ok {
			return i
		}
		dst[i] = v
	}
	return len(dst)
}
