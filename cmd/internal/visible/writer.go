package visible

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// The escape sequences that the programs use themselves. A Writer passes them on if its
// destination is a terminal, and no others.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	alarm = "\x1b[1;31m" // bold as well: red is dark on some backgrounds, and some people cannot see red
	reset = "\x1b[0m"
	// EraseLine moves to the beginning of the line and clears it.
	EraseLine = "\r\x1b[K"
)

// Styled is text that this package has made, which may contain our sequences.
type Styled string

// Bold returns s for headings on a terminal.
func Bold(s string) Styled { return Styled(bold + Text(s) + reset) }

// Faint returns s for something absent, on a terminal.
func Faint(s string) Styled { return Styled(faint + Text(s) + reset) }

// Alarm returns s for something unusual, on a terminal. The text alone must say so, too.
func Alarm(s string) Styled { return Styled(alarm + Text(s) + reset) }

// Writer is what the programs print to. Printf and Println print each argument as one line;
// Write, for all other callers, keeps line ends and tabs.
type Writer struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	ascii    bool
	lines    int
	rest     []byte // the beginning of a character that was cut in two
}

// NewWriter returns a writer to w, which is a terminal or not.
func NewWriter(w io.Writer, terminal bool) *Writer { return &Writer{w: w, terminal: terminal} }

// ASCII makes w write for a locale without other characters: what the programs draw becomes the
// nearest ASCII, as wide as before, and others' characters become question marks.
func (w *Writer) ASCII() { w.ascii = true }

// Styles sets whether w passes on our escape sequences, as for a terminal.
func (w *Writer) Styles(on bool) { w.terminal = on }

// Lines returns how many line ends w has written.
func (w *Writer) Lines() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines
}

// Unwrap returns the writer that w writes to.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Printf prints; each argument stays on one line, whatever it contains.
func (w *Writer) Printf(format string, args ...any) {
	fmt.Fprintf(w, format, tame(args)...)
}

// Println prints its arguments as one line.
func (w *Writer) Println(args ...any) {
	fmt.Fprintln(w, tame(args)...)
}

func tame(args []any) []any {
	safe := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			safe[i] = Text(a)
		case error:
			safe[i] = Text(a.Error())
		case fmt.Stringer:
			safe[i] = Text(a.String())
		default:
			safe[i] = a // Numbers, and Styled text.
		}
	}
	return safe
}

// Write writes p as text, escaped.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(p)
}

// WritePlain writes p, which has nothing but printable ASCII and line ends: Plain reports that.
func (w *Writer) WritePlain(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		return w.write(p)
	}
	w.lines += bytes.Count(p, []byte{'\n'})
	return w.w.Write(p)
}

func (w *Writer) write(p []byte) (int, error) {
	b := p
	if len(w.rest) > 0 {
		b = append(w.rest, p...)
		w.rest = nil
	}
	if i := cutLetter(b); i < len(b) {
		w.rest = append([]byte(nil), b[i:]...)
		b = b[:i]
	}
	if err := w.put(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes a last incomplete character.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.rest
	w.rest = nil
	return w.put(b)
}

func (w *Writer) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if !Plain(b) {
		b = w.filter(b)
		if w.ascii {
			b = appendASCII(nil, string(b))
		}
	}
	w.lines += bytes.Count(b, []byte{'\n'})
	_, err := w.w.Write(b)
	return err
}

// cutLetter returns where an incomplete character at the end of b begins.
func cutLetter(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if b[i] >= utf8.RuneSelf && !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// Plain reports whether b has only printable ASCII and line ends, as most text does. It reads
// eight bytes at a time, and checks after each 64.
func Plain(b []byte) bool {
	for ; len(b) >= 64; b = b[64:] {
		bad := uint64(0)
		for i := 0; i < 64; i += 8 {
			bad |= acting(binary.LittleEndian.Uint64(b[i:]))
		}
		if bad != 0 {
			return false
		}
	}
	for _, c := range b {
		if (c < ' ' && c != '\n') || c >= 0x7f {
			return false
		}
	}
	return true
}

// acting is not zero if any of eight bytes is neither printable ASCII nor a line end.
func acting(x uint64) uint64 {
	const ones = 0x0101010101010101
	beyond := (x | (x + ones)) & (0x80 * ones)          // 0x7f and above
	letters := (x>>5 | x>>6) & ones                     // a space and above
	others := ((x ^ '\n'*ones) + 0x7f*ones) >> 7 & ones // not a line end
	return beyond | others&^letters
}

func (w *Writer) filter(p []byte) []byte {
	s := string(p)
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		own := w.own(s[i:])
		switch {
		case own > 0:
			n = own
			b = append(b, s[i:i+n]...)
		case r == '\n' || r == '\t' || !(r == utf8.RuneError && n == 1) && !Acts(r):
			b = append(b, s[i:i+n]...)
		default:
			b = appendEscape(b, r, s[i:i+n])
		}
		i += n
	}
	return b
}

// own returns the length of our escape sequence at the beginning of s, 0 if there is none.
func (w *Writer) own(s string) int {
	if w.terminal {
		for _, seq := range []string{bold, faint, alarm, reset, EraseLine} {
			if strings.HasPrefix(s, seq) {
				return len(seq)
			}
		}
	}
	return 0
}
