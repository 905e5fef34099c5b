package varint

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestReader(t *testing.T) {
	b := binary.AppendUvarint(nil, 300)
	b = binary.AppendVarint(b, -7)
	b = append(binary.AppendUvarint(b, 2), "ab"...)
	b = binary.LittleEndian.AppendUint32(b, 9)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(1.5))
	b = append(b, 0x3f, 0xf8, 5)
	read := func(r *Reader) bool {
		return r.Uvarint() == 300 && r.Varint() == -7 && r.String() == "ab" && r.Uint32() == 9 && r.Float() == 1.5 && r.Rounded(2) == 1.5 && r.Count(5) == 5
	}
	r := Reader{In: b}
	if !read(&r) || r.Bad || len(r.In) != 0 {
		t.Errorf("bad %v, %d bytes left", r.Bad, len(r.In))
	}
	// However short it is, it is bad, and gives zeros from there on.
	for n := range b {
		r := Reader{In: b[:n]}
		if read(&r); !r.Bad || r.Uvarint() != 0 || r.Varint() != 0 || r.Bytes(0) == nil && len(r.String()) != 0 {
			t.Errorf("%d bytes: bad %v", n, r.Bad)
		}
	}
	for name, take := range map[string]func(r *Reader){
		"more than may be":   func(r *Reader) { r.Count(299) },
		"more than is there": func(r *Reader) { r.Sized() },
		"less than nothing":  func(r *Reader) { r.Bytes(-1) },
		"a limit below zero": func(r *Reader) { r.Count(-1) },
		"a number without end": func(r *Reader) {
			r.In = []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}
			r.Uvarint()
		},
	} {
		r := Reader{In: b}
		if take(&r); !r.Bad || r.In != nil {
			t.Errorf("%s: it is not bad", name)
		}
	}
}
