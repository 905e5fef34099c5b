package symbol

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample/stack/macho"
)

// cache is a shared cache, which has most of macOS's own libraries, in its files: a first one and
// others beside it. It is read as the memory of a process would be that has the cache at the
// address that it was made for.
type cache struct {
	base    uint64
	parts   []cachePart
	images  []macho.Cached // by address
	locals  *macho.Locals
	symbols map[uint64]*cachedSymbols // by the image's address
	budget  macho.Budget
}

// cachePart is a part of a file that is mapped.
type cachePart struct {
	at, size, offset uint64
	file             *os.File
}

// cachedSymbols are the functions of an image: those that it has itself, and those that only the
// file of local symbols names.
type cachedSymbols struct{ own, local *macho.Symbols }

// Limits of a cache; real ones have some dozens of files, with fewer than ten mappings each.
const (
	maxCacheFiles   = 256
	maxMappings     = 64
	maxCacheSymbols = 8 << 20
	// localsAt is where the file of local symbols appears in the memory.
	localsAt = 1 << 62
)

// cacheHeader is the beginning of one of a cache's files. Its fields are those of dyld's
// dyld_cache_header.
type cacheHeader struct {
	b    [512]byte
	size uint32 // how many of these bytes this version of the header has
}

func readCacheHeader(r io.ReaderAt) (h cacheHeader, ok bool) {
	n, err := r.ReadAt(h.b[:], 0)
	if err != nil && err != io.EOF || n < 232 || string(h.b[:6]) != "dyld_v" {
		return h, false
	}
	h.size = min(binary.LittleEndian.Uint32(h.b[16:]), uint32(n)) // mappings follow the header
	return h, h.size >= 232
}

func (h *cacheHeader) u32(at int) uint32 { return binary.LittleEndian.Uint32(h.b[at:]) }
func (h *cacheHeader) u64(at int) uint64 { return binary.LittleEndian.Uint64(h.b[at:]) }
func (h *cacheHeader) uuid() string      { return macho.UUID([16]byte(h.b[88:104])) }

// identifyCache returns the UUID of a file of a cache, "" of another file.
func identifyCache(r io.ReaderAt) string {
	h, ok := readCacheHeader(r)
	if !ok {
		return ""
	}
	return h.uuid()
}

// openCache opens the cache whose first file is at path; nil if it makes no sense.
func openCache(path string) *cache {
	f, size, err := regular(path)
	if err != nil {
		return nil
	}
	h, ok := readCacheHeader(f)
	if !ok {
		f.Close()
		return nil
	}
	c := &cache{base: h.u64(224), symbols: make(map[uint64]*cachedSymbols), budget: macho.Budget{Symbols: maxCacheSymbols}}
	c.add(f, size, &h)
	var id string
	if id, c.images, ok = macho.ReadCache(c, c.base); !ok || id != h.uuid() {
		f.Close()
		return nil
	}
	slices.SortFunc(c.images, func(a, b macho.Cached) int { return cmp.Compare(a.Load, b.Load) })
	c.others(path, &h)
	return c
}

// add adds what a file maps.
func (c *cache) add(f *os.File, size int64, h *cacheHeader) {
	const each = 32
	n := uint64(h.u32(20))
	b, err := region(f, size, uint64(h.u32(16)), n*each, maxMappings*each)
	if err != nil {
		return
	}
	le := binary.LittleEndian
	for ; len(b) > 0; b = b[each:] {
		c.parts = append(c.parts, cachePart{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]), f})
	}
}

// others adds the further files of a cache, which have its name with a suffix. The first file has
// their UUIDs.
func (c *cache) others(path string, first *cacheHeader) {
	const listOffset, listCount, symbolFile, most = 392, 396, 400, 56
	var list []byte
	if first.size >= symbolFile+16 {
		n := uint64(min(first.u32(listCount), maxCacheFiles))
		list = make([]byte, n*most)
		got, _ := c.parts[0].file.ReadAt(list, int64(first.u32(listOffset)))
		list = append(list[:got], first.b[symbolFile:symbolFile+16]...)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(path)+".") || len(c.parts) > maxCacheFiles {
			continue
		}
		f, size, err := regular(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			continue
		}
		h, ok := readCacheHeader(f)
		if !ok || h.uuid() == "" || !bytes.Contains(list, h.b[88:104]) {
			f.Close()
			continue
		}
		if at := h.u64(72); at != 0 && bytes.Equal(h.b[88:104], first.b[symbolFile:symbolFile+16]) {
			c.parts = append(c.parts, cachePart{localsAt, uint64(size), 0, f})
			c.locals = macho.ReadLocals(c, localsAt+at)
			continue
		}
		c.add(f, size, &h)
	}
}

// Read implements chain.Memory.
func (c *cache) Read(addr uint64, b []byte) bool {
	for _, p := range c.parts {
		if in := addr - p.at; addr >= p.at && in <= p.size && uint64(len(b)) <= p.size-in && p.offset+in < 1<<62 {
			_, err := p.file.ReadAt(b, int64(p.offset+in))
			return err == nil
		}
	}
	return false
}

// function returns the name of the function at an address that the cache was made for.
func (c *cache) function(addr uint64) string {
	i, found := slices.BinarySearchFunc(c.images, addr, func(m macho.Cached, addr uint64) int { return cmp.Compare(m.Load, addr) })
	if !found {
		i--
	}
	if i < 0 || addr-c.images[i].Load >= c.images[i].Size {
		return ""
	}
	m := &c.images[i]
	s := c.symbols[m.Load]
	if s == nil {
		s = &cachedSymbols{}
		h, ok := macho.ReadHeader(c, m.Load)
		if ok {
			s.own = h.ReadSymbols(c, &c.budget)
		}
		if s.own != nil { // else it is unknown where functions without names begin
			s.local = c.locals.Symbols(c, &h, m.Load-c.base, &c.budget)
		}
		c.symbols[m.Load] = s
	}
	if name := s.own.Name(c, addr-m.Load); name != "" {
		return name
	}
	return s.local.Name(c, addr-m.Load)
}
