package mach

import (
	"slices"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
	"tachograph/sample/stack/macho"
)

// image is a loaded image, with what is known of it so far: most of a process's hundreds of
// images never occur in a stack, and are not read.
type image struct {
	stack.Image
	header  macho.Header
	symbols *macho.Symbols
	mem     chain.Memory
	sought  bool // whether symbols has been sought
	// unwinding is how its functions use the stack.
	unwinding unwinding
}

// inCache marks the image as a part of a shared cache; id is "" if the cache is unknown.
func (m *image) inCache(id string, slide uint64) {
	if m.Cache = true; id != "" {
		m.CacheID, m.CacheSlide = id, slide
	}
}

// mapped is an address at which an image was loaded.
type mapped struct {
	load, path uint64
	size       uint64 // of its text
	image      *image // nil until it has been sought
	sought     bool
}

// unknownSize is how far an image of unknown size may reach, if no other begins before.
const unknownSize = 256 << 20

// images are the images of a process, sorted by address.
type images struct {
	mem     chain.Memory
	changed uint64
	read    bool
	list    []mapped
	entries []macho.Entry
	names   *names
	frames  map[site]stack.Frame
	learned int // how much has been read about images and functions that walks need
	// the shared cache's, as stack.Image has them
	cacheID    string
	cacheSlide uint64
}

// update reads dyld's list if it has changed. While dyld is changing it, the previous list
// remains in use.
func (m *images) update(at, size uint64) {
	infos, ok := macho.ReadInfos(m.mem, at, size)
	if !ok || m.read && infos.Changed == m.changed {
		return
	}
	if m.entries, ok = infos.List(m.mem, m.entries[:0]); !ok {
		return
	}
	m.cacheID, m.cacheSlide = infos.CacheUUID, infos.CacheSlide
	before := m.list
	m.list = make([]mapped, 0, len(m.entries))
	for _, e := range m.entries {
		m.list = append(m.list, mapped{load: e.Load, path: e.Path})
	}
	m.sort()
	for i := range m.list {
		// An unchanged image keeps its pointer.
		if j, found := slices.BinarySearchFunc(before, m.list[i], byLoad); found && before[j].image != nil {
			if h, ok := macho.ReadHeader(m.mem, before[j].load); ok && h == before[j].image.header {
				m.list[i].image, m.list[i].size, m.list[i].sought = before[j].image, h.Size, true
			}
		}
	}
	m.read, m.changed = true, infos.Changed
	clear(m.frames)
}

// add adds an image at an address; the caller must call sort afterwards.
func (m *images) add(load, size uint64, at *image) {
	m.list = append(m.list, mapped{load: load, size: size, image: at, sought: true})
}

func (m *images) sort() {
	slices.SortStableFunc(m.list, byLoad)
	m.list = slices.CompactFunc(m.list, func(a, b mapped) bool { return a.load == b.load })
}

func byLoad(a, b mapped) int {
	switch {
	case a.load < b.load:
		return -1
	case a.load > b.load:
		return 1
	}
	return 0
}

// near returns the only image that may contain an address, reading nothing; nil if there is none.
func (m *images) near(addr uint64) *mapped {
	i, found := slices.BinarySearchFunc(m.list, mapped{load: addr}, byLoad)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &m.list[i]
}

// contains says whether an image that has been sought contains an address.
func (e *mapped) contains(addr uint64) bool { return e.image != nil && addr-e.load < e.size }

// find returns the image that contains an address; nil if there is none.
func (m *images) find(addr uint64) *image {
	e := m.near(addr)
	if e == nil {
		return nil
	}
	if !e.sought {
		e.sought = true
		m.learned++
		if h, ok := macho.ReadHeader(m.mem, e.load); ok {
			e.size = h.Size
			path, _ := macho.Text(m.mem, e.path, maxPath)
			e.image = &image{header: h, mem: m.mem, Image: stack.Image{Path: printable(path), ID: h.UUID, Base: e.load}}
			if h.Cache {
				e.image.inCache(m.cacheID, m.cacheSlide)
			}
		}
	}
	if !e.contains(addr) {
		return nil
	}
	return e.image
}

// function returns the start of the function that contains an address.
func (m *images) function(addr uint64) (start uint64, ok bool) {
	if at := m.find(addr); at != nil {
		offset, ok := m.names.symbols(at).Function(addr - at.Base)
		return at.Base + offset, ok
	}
	return 0, false
}

// site is an address that code calls from, or runs at.
type site struct {
	addr   uint64
	caller bool
}

// maxSites bounds how many addresses are remembered.
const maxSites = 1 << 15

// frame returns what is known about an address; caller says that it is where a call returns to,
// which may be just after the end of the calling function. Results are cached, as the same few
// addresses occur over and over.
func (m *images) frame(addr uint64, caller bool) stack.Frame {
	f, ok := m.frames[site{addr, caller}]
	if !ok {
		f = m.newFrame(addr, caller)
		if len(m.frames) >= maxSites {
			clear(m.frames)
		}
		if m.frames == nil {
			m.frames = make(map[site]stack.Frame)
		}
		m.frames[site{addr, caller}] = f
	}
	return f
}

func (m *images) newFrame(addr uint64, caller bool) stack.Frame {
	in := addr
	if caller {
		in--
	}
	at := m.find(in)
	if at == nil {
		return stack.Frame{Address: addr}
	}
	return stack.Frame{Address: addr, Image: &at.Image, Name: m.names.of(at, in)}
}

const maxPath = 1024

// printable makes another program's text fit to be shown and stored: valid UTF-8, without
// control characters.
func printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return clean(s)
		}
	}
	return s
}

func clean(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			r = '\ufffd'
		}
		out = append(out, r)
	}
	return string(out)
}
