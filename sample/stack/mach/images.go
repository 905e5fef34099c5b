package mach

import (
	"slices"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
	"tachograph/sample/stack/macho"
)

// image is one that was loaded, with what is known of it so far: most of a
// process's hundreds are never met in a stack, and not looked at.
type image struct {
	stack.Image
	header  macho.Header
	symbols *macho.Symbols
	mem     chain.Memory
	sought  bool // the symbols
}

// inCache says that it is in a shared cache; id is "" where that is not known.
func (m *image) inCache(id string, slide uint64) {
	if m.Cache = true; id != "" {
		m.CacheID, m.CacheSlide = id, slide
	}
}

// mapped is a place where an image was loaded.
type mapped struct {
	load, path uint64
	size       uint64 // of its text
	image      *image // nil until it has been sought
	sought     bool
}

// unknownSize is how far an image may reach of which only the beginning is known,
// if no other begins before.
const unknownSize = 256 << 20

// images are those of a process, sorted by where they are.
type images struct {
	mem     chain.Memory
	changed uint64
	read    bool
	list    []mapped
	entries []macho.Entry
	names   *names
	frames  map[site]stack.Frame
	// the shared cache's, as stack.Image has them
	cacheID    string
	cacheSlide uint64
}

// update reads dyld's list if that has changed. While dyld is changing it, the
// list before that stands.
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
		// An image that is the same as before is the same to who is given it.
		if j, found := slices.BinarySearchFunc(before, m.list[i], byLoad); found && before[j].image != nil {
			if h, ok := macho.ReadHeader(m.mem, before[j].load); ok && h == before[j].image.header {
				m.list[i].image, m.list[i].size, m.list[i].sought = before[j].image, h.Size, true
			}
		}
	}
	m.read, m.changed = true, infos.Changed
	clear(m.frames)
}

// add puts an image where it is said to be; sort follows.
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

// find is the image that an address is in; nil for none.
func (m *images) find(addr uint64) *image {
	i, found := slices.BinarySearchFunc(m.list, mapped{load: addr}, byLoad)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	e := &m.list[i]
	if !e.sought {
		e.sought = true
		if h, ok := macho.ReadHeader(m.mem, e.load); ok {
			e.size = h.Size
			path, _ := macho.Text(m.mem, e.path, maxPath)
			e.image = &image{header: h, mem: m.mem, Image: stack.Image{Path: printable(path), ID: h.UUID, Base: e.load}}
			if h.Cache {
				e.image.inCache(m.cacheID, m.cacheSlide)
			}
		}
	}
	if e.image == nil || addr-e.load >= e.size {
		return nil
	}
	return e.image
}

// function is where the function begins that an address is in.
func (m *images) function(addr uint64) (start uint64, ok bool) {
	if at := m.find(addr); at != nil {
		offset, ok := m.names.symbols(at).Function(addr - at.Base)
		return at.Base + offset, ok
	}
	return 0, false
}

// site is an address that code is called from, or at.
type site struct {
	addr   uint64
	caller bool
}

// maxSites bounds what is remembered of addresses.
const maxSites = 1 << 15

// frame is what is known about an address; caller says that it is where a call
// returns to, which may lie behind the end of the function that called. The same
// few are met over and over.
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

// printable is text of a stranger's that can be shown and stored: valid, without
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
