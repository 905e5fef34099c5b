package procfs

import "encoding/binary"

// Dirents walks the result of getdents64 and calls each with the names that are numbers: the
// processes in /proc, the threads in task, the descriptors in fd.
func Dirents(b []byte, each func(number int32)) {
	const header = 19 // d_ino, d_off, d_reclen, d_type
	for len(b) > header {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= header || size > len(b) {
			return
		}
		name := b[header:size]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		if v, ok := uint(name); ok && v <= 1<<31-1 {
			each(int32(v))
		}
		b = b[size:]
	}
}
