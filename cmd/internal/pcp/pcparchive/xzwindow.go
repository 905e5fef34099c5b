package pcparchive

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// The head of each block in an xz file says how far decompression looks back in it, at most 4
// GB, and package xz takes that much memory. The heads cannot be found without decompressing
// what is before them; but each begins at a multiple of four bytes and has a checksum, so every
// possible head can be checked.

const longestBlockHead = 1024

// checkWindows refuses an xz file with a block that looks back further than maxWindow.
func checkWindows(in io.Reader) error {
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		b, err := r.Peek(longestBlockHead)
		if len(b) < 8 {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if n := windowOf(b); n > maxWindow {
			return fmt.Errorf("unpacking looks back %d MB, more than the %d MB that there are for it", n>>20, maxWindow>>20)
		}
		if _, err := r.Discard(4); err != nil {
			return err
		}
	}
}

// windowOf returns how far decompression looks back in the block whose head b begins with; 0 if
// b is not a head.
func windowOf(b []byte) int64 {
	size := (int(b[0]) + 1) * 4
	if b[0] == 0 || size > len(b) || b[1]&0x3f != 0 { // one filter: package xz knows no other than LZMA2
		return 0
	}
	at := 2
	for _, there := range []bool{b[1]&0x40 != 0, b[1]&0x80 != 0} { // the compressed and the decompressed length
		if there {
			_, n := binary.Uvarint(b[at : size-4])
			if n <= 0 {
				return 0
			}
			at += n
		}
	}
	const lzma2 = 0x21
	if at+3 > size-4 || b[at] != lzma2 || b[at+1] != 1 || b[at+2] > 40 {
		return 0
	}
	if crc32.ChecksumIEEE(b[:size-4]) != binary.LittleEndian.Uint32(b[size-4:size]) {
		return 0
	}
	bits := int64(b[at+2])
	return (2 | bits&1) << (bits/2 + 11)
}
