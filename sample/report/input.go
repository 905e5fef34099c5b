package report

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of what is read and kept.
const (
	// bufferSize is how much of a file is in memory at a time.
	bufferSize = 32 << 10
	// largestReport is how much is read of a report, except of panics and stackshots.
	largestReport = 1 << 20
	largestPanic  = 10_240_000
	// largestText is how much is read of a text that begins with keys, largestStacks of one about
	// a crash or a panic, where stacks come before what is wanted.
	largestText   = 8 << 10
	largestStacks = 256 << 10
	longestLine   = 4 << 10
	longestText   = 2 << 10
	longestSymbol = 256
	longestNumber = 64
	longestKey    = 64
)

var (
	// ErrIncomplete says that a report ends too early: it may still be being written.
	ErrIncomplete = errors.New("the report is incomplete")
	// ErrTooLarge says that a report is larger than what is read of its kind.
	ErrTooLarge = errors.New("the report is too large")
	// ErrMalformed says that a file is not a report.
	ErrMalformed = errors.New("not a report")
)

// input reads JSON and lines from a file through one small buffer.
//
// encoding/json keeps a whole value in memory even to skip it: 10 MB of a panic, of which a few lines
// are wanted. It also takes the last of two equal keys, where macOS means the first, and matches keys
// in whatever case.
//
// The methods return false when they cannot go on; fault says why.
type input struct {
	src     io.Reader
	buf     []byte // buf[pos:] is not used yet
	pos     int
	left    int64 // how much may still be read from src
	err     error // why nothing more can be read
	key     [longestKey]byte
	scratch []byte
}

func newInput(src io.Reader) *input {
	return &input{src: src, buf: make([]byte, 0, bufferSize), left: largestReport}
}

// allow lets n bytes be read altogether instead of largestReport.
func (in *input) allow(n int64) { in.left += n - largestReport }

// fault is the error of a report of which a method returned false.
func (in *input) fault() error {
	switch in.err {
	case nil:
		return ErrMalformed
	case io.EOF:
		return ErrIncomplete
	}
	return in.err
}

// fill reads the next bytes when all are used.
func (in *input) fill() bool {
	for range 100 {
		if in.err != nil {
			return false
		}
		if in.left <= 0 {
			in.err = ErrTooLarge
			return false
		}
		n, err := in.src.Read(in.buf[:min(int64(cap(in.buf)), in.left)])
		in.buf, in.pos, in.err = in.buf[:n], 0, err
		in.left -= int64(n)
		if n > 0 {
			return true
		}
	}
	in.err = io.ErrNoProgress
	return false
}

// more reports whether there is another byte, which is then in.buf[in.pos].
func (in *input) more() bool { return in.pos < len(in.buf) || in.fill() }

// next returns the next byte that is not a space, and leaves it there.
func (in *input) next() (byte, bool) {
	for in.more() {
		switch c := in.buf[in.pos]; c {
		case ' ', '\t', '\n', '\r':
			in.pos++
		default:
			return c, true
		}
	}
	return 0, false
}

// object calls each with the keys of an object; each reads or skips the value. The key is
// overwritten by the next one. Another kind of value is skipped.
func (in *input) object(each func(key []byte) bool) bool {
	if c, ok := in.next(); !ok || c != '{' {
		return ok && in.skip()
	}
	in.pos++
	for {
		c, ok := in.next()
		switch {
		case !ok:
			return false
		case c == '}':
			in.pos++
			return true
		case c == ',':
			in.pos++
			continue
		case c != '"':
			return false
		}
		text, ok := in.quoted(longestKey)
		if !ok {
			return false
		}
		key := in.key[:copy(in.key[:], text)]
		if c, ok = in.next(); !ok || c != ':' {
			return false
		}
		in.pos++
		if !each(key) {
			return false
		}
	}
}

// array calls each for every element of an array, which each reads or skips.
func (in *input) array(each func(i int) bool) bool {
	if c, ok := in.next(); !ok || c != '[' {
		return ok && in.skip()
	}
	in.pos++
	for i := 0; ; {
		c, ok := in.next()
		switch {
		case !ok:
			return false
		case c == ']':
			in.pos++
			return true
		case c == ',':
			in.pos++
			continue
		}
		if !each(i) {
			return false
		}
		i++
	}
}

// skip passes over a value, however deep it is. It does not check what is in the value.
func (in *input) skip() bool {
	c, ok := in.next()
	switch {
	case !ok:
		return false
	case c == '"':
		_, ok = in.quoted(0)
		return ok
	case c != '{' && c != '[':
		_, ok = in.bare(0)
		return ok
	}
	for depth := 0; in.more(); {
		switch in.buf[in.pos] {
		case '"':
			if _, ok := in.quoted(0); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		in.pos++
		if depth == 0 {
			return true
		}
	}
	return false
}

// scalar returns the first bytes of a text or a number, until the next call. Of null, an object or
// an array it returns nothing.
func (in *input) scalar(longest int) ([]byte, bool) {
	c, ok := in.next()
	switch {
	case !ok:
		return nil, false
	case c == '"':
		return in.quoted(longest)
	case c == '{' || c == '[':
		return nil, in.skip()
	}
	b, ok := in.bare(longest)
	if string(b) == "null" {
		b = nil
	}
	return b, ok
}

// bare returns the first bytes of a number, true, false or null.
func (in *input) bare(longest int) ([]byte, bool) {
	in.scratch = in.scratch[:0]
	for n := 0; in.more(); n++ {
		c := in.buf[in.pos]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '+' && c != '.' {
			return in.scratch, n > 0
		}
		if len(in.scratch) < longest {
			in.scratch = append(in.scratch, c)
		}
		in.pos++
	}
	return in.scratch, false
}

// quoted returns the first bytes of a quoted text, unescaped.
func (in *input) quoted(longest int) ([]byte, bool) {
	in.pos++
	in.scratch = in.scratch[:0]
	var high rune // the first half of a character beyond 16 bits
	for in.more() {
		rest := in.buf[in.pos:]
		n := 0
		for n < len(rest) && rest[n] != '"' && rest[n] != '\\' {
			n++
		}
		if keep := min(n, longest-len(in.scratch)); keep > 0 {
			in.scratch = append(in.scratch, rest[:keep]...)
		}
		if in.pos += n; n == len(rest) {
			continue
		}
		in.pos++
		if rest[n] == '"' {
			return in.scratch, true
		}
		r, ok := in.escaped()
		if !ok {
			return nil, false
		}
		switch {
		case utf16.IsSurrogate(r) && r < 0xdc00:
			high = r
			continue
		case utf16.IsSurrogate(r):
			r = utf16.DecodeRune(high, r)
		}
		high = 0
		if len(in.scratch)+utf8.UTFMax <= longest {
			in.scratch = utf8.AppendRune(in.scratch, r)
		}
	}
	return nil, false
}

// escaped returns the character that follows a backslash.
func (in *input) escaped() (rune, bool) {
	if !in.more() {
		return 0, false
	}
	c := in.buf[in.pos]
	in.pos++
	switch c {
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'u':
		var r rune
		for range 4 {
			if !in.more() {
				return 0, false
			}
			digit, err := strconv.ParseUint(string(in.buf[in.pos]), 16, 8)
			if err != nil {
				return 0, false
			}
			in.pos++
			r = r<<4 | rune(digit)
		}
		return r, true
	}
	return rune(c), true
}

// line returns the first bytes of a line and how long it is, its end included. It ends with the file.
func (in *input) line(longest int) (text []byte, size int, ok bool) {
	in.scratch = in.scratch[:0]
	for in.more() {
		c := in.buf[in.pos]
		in.pos++
		size++
		if c == '\n' {
			return in.scratch, size, true
		}
		if len(in.scratch) < longest {
			in.scratch = append(in.scratch, c)
		}
	}
	return in.scratch, size, size > 0
}

// The following set what is still empty, because the first of equal keys counts.

func (in *input) text(to *string) bool { return in.textUpTo(longestText, to) }

func (in *input) textUpTo(longest int, to *string) bool {
	b, ok := in.scalar(longest + 1)
	if ok && *to == "" {
		*to = printable(string(b), longest)
	}
	return ok
}

func (in *input) number(to *uint64) bool {
	b, ok := in.scalar(longestNumber)
	if ok && *to == 0 {
		*to = number(string(b))
	}
	return ok
}

func (in *input) pid(to *int32) bool {
	var n uint64
	ok := in.number(&n)
	if ok && *to == 0 {
		*to = pid(n)
	}
	return ok
}

// number reads a number that fits into 64 bits. Of others it returns the nearest one, of what is not
// a number 0.
func number(s string) uint64 {
	digits, base := s, 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		digits, base = hex, 16
	}
	if n, err := strconv.ParseUint(digits, base, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(f), f <= 0:
		return 0
	case f >= 1<<64:
		return math.MaxUint64
	}
	return uint64(f)
}

// pid returns a number as a process number, or 0 if it is too large for one.
func pid(n uint64) int32 {
	if n > math.MaxInt32 {
		return 0
	}
	return int32(n)
}
