package kcdata

import "encoding/binary"

// Kinds of items, as <kern/kcdata.h> numbers them.
const (
	beginShot       = 0x59a25807
	beginDelta      = 0xde17a59a
	beginCompressed = 0x434f4d50
	end             = 0xf19158ed

	oldArray       = 0x11
	containerBegin = 0x13
	containerEnd   = 0x14
	array          = 0x20 // to 0x2f: with this many bytes of padding
	loadInfo       = 0x31
	timebase       = 0x32
	machTime       = 0x33

	inTask        = 0x903
	inThread      = 0x904
	inCache       = 0x942
	taskSnapshot  = 0x905
	thread        = 0x906
	cacheInfo     = 0x908
	threadName    = 0x909
	kernelStack   = 0x914
	userStack     = 0x916
	duration      = 0x91a
	kernelLoad    = 0x91c
	waitInfo      = 0x91d
	cacheLayout   = 0x927
	queueLabel    = 0x928
	cacheInfoNew  = 0x943
	taskCache     = 0x945
	isStruct      = 0x80 // in the flags: their low four bits are padding
	maxDepth      = 16
	itemHead      = 16
	loadInfoSize  = 24
	waitInfoSize  = 25
	cacheInfoSize = 24
)

var le = binary.LittleEndian

// item is one item. In an array, kind is that of its elements.
type item struct {
	kind  uint32
	flags uint64
	data  []byte // without padding
	each  int    // size of an element, 0 if it is no array
}

// next splits the first item off b.
func next(b []byte) (it item, rest []byte, ok bool) {
	if len(b) < itemHead {
		return it, nil, false
	}
	it.kind, it.flags = le.Uint32(b), le.Uint64(b[8:])
	size := uint64(le.Uint32(b[4:]))
	if size > uint64(len(b)-itemHead) {
		return it, nil, false
	}
	it.data, rest = b[itemHead:itemHead+size], b[itemHead+size:]
	pad := 0
	switch {
	case it.kind&^15 == array:
		pad = int(it.kind & 15)
		it.kind = array
	case it.kind == containerBegin || it.kind == containerEnd || it.kind == oldArray:
		// Their flags are a number of some kind.
	case it.flags&isStruct != 0:
		pad = int(it.flags & 15)
	}
	if pad > len(it.data) {
		return it, nil, false
	}
	it.data = it.data[:len(it.data)-pad]
	if it.kind == array || it.kind == oldArray {
		count := int(uint32(it.flags))
		it.kind = uint32(it.flags >> 32)
		if count <= 0 || count > len(it.data) || len(it.data)%count != 0 {
			it.data, it.each = nil, 1 // it is empty, or its elements cannot be separated
		} else {
			it.each = len(it.data) / count
		}
	}
	return it, rest, true
}

// loads appends the elements of an array of addresses and UUIDs.
func (it *item) loads(to []Load) []Load {
	if it.each != loadInfoSize {
		return to
	}
	for b := it.data; len(b) > 0; b = b[loadInfoSize:] {
		to = append(to, Load{le.Uint64(b), [16]byte(b[8:24])})
	}
	return to
}

// words appends the elements of an array of addresses.
func (it *item) words(to []uint64) []uint64 {
	if it.each != 8 {
		return to
	}
	for b := it.data; len(b) > 0; b = b[8:] {
		to = append(to, le.Uint64(b))
	}
	return to
}

func (it *item) text() string {
	for i, c := range it.data {
		if c == 0 {
			return string(it.data[:i])
		}
	}
	return string(it.data)
}
