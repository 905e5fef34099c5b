package systemd

import "errors"

var errPacked = errors.New("compressed data are damaged")

// appendLZ4 appends what a raw LZ4 block holds, up to limit bytes, and reads no more of the block
// than that takes.
func appendLZ4(dst, src []byte, limit int) ([]byte, error) {
	start := len(dst)
	room := func() int { return limit - (len(dst) - start) }
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		literals, rest, ok := lz4Length(int(token>>4), src, limit)
		if !ok {
			return dst, errPacked
		}
		src = rest
		if literals >= room() && room() <= len(src) {
			return append(dst, src[:room()]...), nil
		}
		if literals > len(src) {
			return dst, errPacked
		}
		dst, src = append(dst, src[:literals]...), src[literals:]
		if len(src) == 0 {
			return dst, nil // the last sequence has no copy
		}
		if len(src) < 2 {
			return dst, errPacked
		}
		back := int(src[0]) | int(src[1])<<8
		length, rest, ok := lz4Length(int(token&15), src[2:], limit)
		if !ok || back == 0 || back > len(dst)-start {
			return dst, errPacked
		}
		src = rest
		length = min(length+4, room())
		// Byte by byte, as a copy may overlap what it writes.
		for at := len(dst) - back; length > 0; length-- {
			dst = append(dst, dst[at])
			at++
		}
		if room() == 0 {
			return dst, nil
		}
	}
	return dst, errPacked
}

// lz4Length adds the bytes that follow a length of 15. A length beyond the limit is cut to just
// above it.
func lz4Length(n int, src []byte, limit int) (int, []byte, bool) {
	if n < 15 {
		return n, src, true
	}
	for i, b := range src {
		n = min(n+int(b), limit+1)
		if b != 255 {
			return n, src[i+1:], true
		}
	}
	return 0, nil, false
}
