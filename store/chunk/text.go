package chunk

import (
	"encoding/binary"
	"strconv"
	"strings"

	"tachograph/store/varint"
)

// Names are mostly numbers in a fixed frame: "001234 bash", "1234/5678". They are coded as the
// frame, which is one of few, and the numbers, which are close to the previous ones.

// numberMark stands for a number in a frame. A text that contains it itself is coded entirely
// as frame.
const (
	numberMark = "\x00"
	plainMark  = "\x01" // begins a frame without numbers
)

// A figure is a number in text: its value and how many digits it was written with.
type figure struct {
	value uint64
	width uint32
}

// maxFigure is the number of digits that always fit into 64 bits.
const maxFigure = 18

// maxFigures bounds the numbers in one frame; further digits belong to the frame.
const maxFigures = 12

// split divides text into its frame and figures.
func split(s string, figures []figure) (string, []figure) {
	figures = figures[:0]
	if strings.Contains(s, numberMark) || strings.HasPrefix(s, plainMark) {
		return plainMark + s, figures
	}
	frame := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		n := 0
		for i+n < len(s) && n < maxFigure && '0' <= s[i+n] && s[i+n] <= '9' {
			n++
		}
		if n == 0 || len(figures) == maxFigures {
			frame = append(frame, s[i])
			i++
			continue
		}
		v, _ := strconv.ParseUint(s[i:i+n], 10, 64)
		figures = append(figures, figure{v, uint32(n)})
		frame = append(frame, numberMark...)
		i += n
	}
	return string(frame), figures
}

// appendText is the inverse of split.
func appendText(out []byte, frame string, figures []figure) []byte {
	if strings.HasPrefix(frame, plainMark) {
		return append(out, frame[len(plainMark):]...)
	}
	for i := 0; i < len(frame); i++ {
		if frame[i] != numberMark[0] || len(figures) == 0 {
			out = append(out, frame[i])
			continue
		}
		f := figures[0]
		figures = figures[1:]
		for w := digits(f.value); w < f.width; w++ {
			out = append(out, '0')
		}
		out = strconv.AppendUint(out, f.value, 10)
	}
	return out
}

func digits(v uint64) uint32 {
	n := uint32(1)
	for ; v > 9; v /= 10 {
		n++
	}
	return n
}

// marks returns the number of numbers in a frame.
func marks(frame string) int {
	if strings.HasPrefix(frame, plainMark) {
		return 0
	}
	return strings.Count(frame, numberMark)
}

// frames are the frames of a part by number.
type frames struct {
	list  []string
	marks []int
	index map[string]int
}

func (f *frames) number(s string) int {
	n, ok := f.index[s]
	if !ok {
		if f.index == nil {
			f.index = make(map[string]int)
		}
		n = len(f.list)
		f.index[s] = n
		f.list = append(f.list, s)
	}
	return n
}

// plain returns frame i as the text that it is when it has no figures.
func (f *frames) plain(i int) string { return strings.TrimPrefix(f.list[i], plainMark) }

func (f *frames) marshal() ([]byte, error) {
	raw := binary.AppendUvarint(nil, uint64(len(f.list)))
	for _, s := range f.list {
		raw = binary.AppendUvarint(raw, uint64(len(s)))
	}
	for _, s := range f.list {
		raw = append(raw, s...)
	}
	if len(raw) > maxText {
		return nil, ErrMuchText
	}
	return Pack(raw), nil
}

func (f *frames) parse(in []byte) bool {
	raw, err := Unpack(in, maxText)
	if err != nil {
		return false
	}
	r := varint.Reader{In: raw}
	n := r.Count(min(len(raw), maxTexts))
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = r.Count(len(raw))
	}
	text := string(r.In)
	f.list, f.marks = make([]string, n), make([]int, n)
	for i, size := range sizes {
		if r.Bad || size > len(text) {
			return false
		}
		f.list[i] = text[:size]
		f.marks[i] = marks(f.list[i])
		if f.marks[i] > maxFigures {
			return false
		}
		text = text[size:]
	}
	return !r.Bad && text == ""
}
