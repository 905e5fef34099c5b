package systemd

import (
	"encoding/json"
	"errors"
	"io"
)

// NewFile reads the header of one file.
func NewFile(r io.ReaderAt, wanted map[string]bool) (*File, error) {
	return newFile(r, wanted, new(memory))
}

const maxMark = 32 << 10

// ParseMark reads what Text has written.
func ParseMark(text []byte) (m Mark, err error) {
	if len(text) > maxMark {
		return m, errors.New("the mark is too long")
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Mark{}, err
	}
	if len(m.Streams) > maxStreams {
		return Mark{}, errors.New("the mark has too many streams")
	}
	return m, nil
}

// Text is the mark as it is kept.
func (m Mark) Text() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // of numbers and names
	}
	return text
}
