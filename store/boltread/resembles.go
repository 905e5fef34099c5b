package boltread

import "encoding/binary"

// Resembles reports whether anything in src looks like a page of a database: a page header that
// has the page's own number. A file that lost both meta pages still has others. A text, a
// picture or a program has none.
func Resembles(src Source) bool {
	size, err := src.Size()
	if err != nil {
		return false
	}
	const most = 4096 // headers read of each page size
	for pageSize := int64(minPageSize); pageSize <= maxPageSize; pageSize *= 2 {
		pages := (size + pageSize - 1) / pageSize
		for n := int64(1); n < pages; n += max(pages/most, 1) {
			var header [pageHeaderSize]byte
			if got, _ := src.ReadAt(header[:], n*pageSize); got < len(header) {
				break
			}
			le := binary.LittleEndian
			switch le.Uint16(header[8:]) {
			case branchFlag, leafFlag, metaFlag, freelistFlag:
				if le.Uint64(header[:]) == uint64(n) {
					return true
				}
			}
		}
	}
	return false
}
