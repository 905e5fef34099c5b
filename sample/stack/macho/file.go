package macho

import (
	"encoding/binary"
	"io"
	"os"
	"syscall"
)

// What fat files, which hold a program for several processors, begin with; their
// numbers have the most significant byte first.
const (
	magicFat     = 0xcafebabe
	fatEntry     = 20
	maxFatImages = 16
)

// FileUUIDs are the UUIDs of the images in a file, none if it is not of this kind
// or cannot be read.
func FileUUIDs(path string) []string {
	// A path may lead to anything by now, also to what would be waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return uuids(f)
}

func uuids(r io.ReaderAt) (all []string) {
	at := []uint64{0}
	var head [8 + maxFatImages*fatEntry]byte
	if n, _ := r.ReadAt(head[:], 0); n >= 8 && binary.BigEndian.Uint32(head[:]) == magicFat {
		at = at[:0]
		for i := range binary.BigEndian.Uint32(head[4:]) {
			e := 8 + int(i)*fatEntry
			if i >= maxFatImages || e+fatEntry > n {
				break
			}
			at = append(at, uint64(binary.BigEndian.Uint32(head[e+8:])))
		}
	}
	for _, offset := range at {
		// A file is laid out as its text is in memory.
		if h, ok := ReadHeader(fileMemory{r}, offset); ok && h.UUID != "" {
			all = append(all, h.UUID)
		}
	}
	return all
}

// fileMemory is a file as if it were memory.
type fileMemory struct{ r io.ReaderAt }

func (m fileMemory) Read(addr uint64, b []byte) bool {
	if addr > 1<<62 {
		return false
	}
	n, _ := m.r.ReadAt(b, int64(addr))
	return n == len(b)
}
