package macho

import (
	"encoding/binary"

	"tachograph/sample/stack/chain"
)

// Infos is what dyld keeps for debuggers: its dyld_all_image_infos.
type Infos struct {
	Count uint32
	Array uint64 // 0 while dyld changes the list
	Dyld  uint64 // address of dyld itself, which the list lacks
	// Path is the address of the name of dyld's file; 0 in old systems.
	Path uint64
	// Changed is when the list last changed, in Mach ticks.
	Changed uint64
	// CacheUUID is the shared cache's, "" if the process has none, and CacheSlide by how much
	// it is loaded above the address that it was made for.
	CacheUUID  string
	CacheSlide uint64
}

// infosSize reaches up to dyldPath, which macOS has had since 10.12.
const infosSize = 200

// MaxImages limits the images of a process that are looked at: large programs have some 3,000.
const MaxImages = 16384

// ReadInfos reads them at the address that TASK_DYLD_INFO returns.
func ReadInfos(mem chain.Memory, at, size uint64) (in Infos, ok bool) {
	var b [infosSize]byte
	if at == 0 || size < infosSize || !mem.Read(at, b[:]) {
		return in, false
	}
	le := binary.LittleEndian
	return Infos{
		Count: le.Uint32(b[4:]), Array: le.Uint64(b[8:]), Dyld: le.Uint64(b[32:]),
		Changed: le.Uint64(b[184:]), Path: le.Uint64(b[192:]), CacheSlide: le.Uint64(b[152:]), CacheUUID: UUID([16]byte(b[160:176])),
	}, true
}

// Entry is an image of the list: its address, and the address of its path.
type Entry struct{ Load, Path uint64 }

// List appends the images in the order in which they were loaded, and dyld last.
func (in *Infos) List(mem chain.Memory, to []Entry) ([]Entry, bool) {
	if in.Array == 0 || in.Count > MaxImages {
		return to, false
	}
	const each = 24
	var b [each * 512]byte
	for i := uint32(0); i < in.Count; {
		n := min(in.Count-i, uint32(len(b)/each))
		part := b[:n*each]
		if !mem.Read(in.Array+uint64(i)*each, part) {
			return to, false
		}
		for ; len(part) > 0; part = part[each:] {
			to = append(to, Entry{binary.LittleEndian.Uint64(part), binary.LittleEndian.Uint64(part[8:])})
		}
		i += n
	}
	if in.Dyld != 0 {
		to = append(to, Entry{in.Dyld, in.Path})
	}
	return to, true
}

// Text reads the text at an address up to its NUL, in parts that do not cross pages. It returns
// false if the text is longer than max or cannot be read.
func Text(mem chain.Memory, at uint64, max int) (string, bool) {
	var b [256]byte
	var long []byte
	for at != 0 {
		part := b[:min(uint64(len(b)), 0x1000-at&0xfff)]
		if !mem.Read(at, part) {
			return "", false
		}
		for i, c := range part {
			if c == 0 {
				long = append(long, part[:i]...)
				return string(long), len(long) <= max
			}
		}
		if long = append(long, part...); len(long) > max {
			return "", false
		}
		at += uint64(len(part))
	}
	return "", false
}
