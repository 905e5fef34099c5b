package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
)

// blocks are arrays of numbers, one after the other, with four bytes for each number: its bits
// are combined (xor) with those of the previous number, and bytes of the same weight are stored
// together. Neighbours are alike, so this is mostly zeros for deflate. There is no block 0: zero
// means none.
type blocks struct {
	data bytes.Buffer
	ends []int
}

func (b *blocks) bits(list []uint32) int {
	planes := make([]byte, 4*len(list))
	before := uint32(0)
	for i, x := range list {
		diff := x ^ before
		before = x
		for p := range 4 {
			planes[p*len(list)+i] = byte(diff >> (8 * p))
		}
	}
	b.data.Write(planes)
	b.ends = append(b.ends, b.data.Len())
	return len(b.ends)
}

// floats stores values in single precision, which is more than four figures. Unknown values stay
// NaN.
func (b *blocks) floats(list []float64) int {
	bits := make([]uint32, len(list))
	for i, x := range list {
		if x != x {
			bits[i] = 0x7fc00000
			continue
		}
		bits[i] = math.Float32bits(float32(x))
	}
	return b.bits(bits)
}

// WriteData writes the page's document and numbers alone, deflated: the length of the document
// in four bytes, its JSON, which has the ends of the blocks, then the blocks.
func (p *Page) WriteData(w io.Writer) error {
	text, err := json.Marshal(struct {
		*document
		Ends []int `json:"ends"`
	}{&p.doc, p.blocks.ends})
	if err != nil {
		return err
	}
	z, err := flate.NewWriter(w, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))); err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if _, err := z.Write(p.blocks.data.Bytes()); err != nil {
		return err
	}
	return z.Close()
}

// writeEncoded writes the data as text that a page can contain.
func (p *Page) writeEncoded(w io.Writer) error {
	e := base64.NewEncoder(base64.StdEncoding, w)
	if err := p.WriteData(e); err != nil {
		return err
	}
	return e.Close()
}
