package macho

import (
	"encoding/binary"

	"tachograph/sample/stack/chain"
)

// Cached is an image of the shared cache.
type Cached struct {
	UUID, Path string
	Load       uint64 // its address in processes that use the cache
	Size       uint64
}

// ReadCache reads the table of images in the header of a shared cache, and the cache's UUID,
// from the memory of a process that has it.
func ReadCache(mem chain.Memory, base uint64) (uuid string, images []Cached, ok bool) {
	le := binary.LittleEndian
	var h [232]byte
	if base == 0 || !mem.Read(base, h[:]) || string(h[:6]) != "dyld_v" {
		return "", nil, false
	}
	const each = 32
	table, count, start := le.Uint64(h[136:]), le.Uint64(h[144:]), le.Uint64(h[224:])
	if count > MaxImages || table > 1<<32 {
		return "", nil, false
	}
	b := make([]byte, count*each)
	if len(b) > 0 && !mem.Read(base+table, b) {
		return "", nil, false
	}
	for ; len(b) > 0; b = b[each:] {
		path, ok := Text(mem, base+uint64(le.Uint32(b[28:])), 1024)
		load := le.Uint64(b[16:])
		if !ok || load < start {
			continue
		}
		images = append(images, Cached{UUID([16]byte(b[:16])), path, load - start + base, uint64(le.Uint32(b[24:]))})
	}
	return UUID([16]byte(h[88:104])), images, true
}
