package main

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"

	"darwintests/check"
	"darwintests/mac"
)

type image struct {
	path, uuid string
	syms       string
	starts     string
	sections   string // of the text
	load       uint64
	flags      uint32
}

// parse reads an image's header, and its symbols from __LINKEDIT.
func (p *process) parse(load uint64) (im image) {
	im.load = load
	h := make([]byte, 32)
	if mac.ReadMemory(p.task, load, h) != 0 || le.Uint32(h) != 0xfeedfacf {
		im.uuid = "no header"
		return
	}
	im.flags = le.Uint32(h[24:])
	c := make([]byte, le.Uint32(h[20:]))
	mac.ReadMemory(p.task, load+32, c)
	var text, link, linkoff, symoff, nsyms, stroff, fsoff, fssize uint64
	for i := uint32(0); i < le.Uint32(h[16:]); i++ {
		cmd, size := le.Uint32(c), le.Uint32(c[4:])
		switch cmd {
		case 0x19:
			switch mac.GoString(c[8:24]) {
			case "__TEXT":
				text = le.Uint64(c[24:])
				var list []string
				for s := c[72:size]; len(s) > 0; s = s[80:] {
					list = append(list, fmt.Sprintf("%s@%x+%x", mac.GoString(s[:16]), le.Uint64(s[32:])-text, le.Uint64(s[40:])))
				}
				im.sections = strings.Join(list, " ")
			case "__LINKEDIT":
				link, linkoff = le.Uint64(c[24:]), le.Uint64(c[40:])
			}
		case 2:
			symoff, nsyms, stroff = uint64(le.Uint32(c[8:])), uint64(le.Uint32(c[12:])), uint64(le.Uint32(c[16:]))
		case 0x1b:
			im.uuid = fmt.Sprintf("%x", c[8:24])
		case 0x26:
			fsoff, fssize = uint64(le.Uint32(c[8:])), uint64(le.Uint32(c[12:]))
		}
		c = c[size:]
	}
	sl := load - text
	var s []string
	for i := range nsyms {
		e := make([]byte, 16)
		mac.ReadMemory(p.task, link+sl-linkoff+symoff+16*i, e)
		s = append(s, fmt.Sprintf("%s@%x/%x", p.str(link+sl-linkoff+stroff+uint64(le.Uint32(e))), le.Uint64(e[8:])+sl-load, e[4]))
	}
	im.syms = strings.Join(s, " ")
	fs := make([]byte, fssize)
	mac.ReadMemory(p.task, link+sl-linkoff+fsoff, fs)
	s = nil
	at := uint64(0)
	for i := 0; i < len(fs) && fs[i] != 0; {
		d, n := binary.Uvarint(fs[i:])
		at += d
		i += n
		s = append(s, fmt.Sprintf("%x", at))
	}
	im.starts = strings.Join(s, " ")
	return
}

func (p *process) images() (all []image, infos []byte) {
	b := make([]byte, 20)
	if kr, n := mac.TaskInfo(p.task, 17, b); kr != 0 || n != 5 || le.Uint64(b) == 0 {
		return nil, nil
	}
	infos = make([]byte, le.Uint64(b[8:]))
	if mac.ReadMemory(p.task, le.Uint64(b), infos) != 0 || le.Uint64(infos[8:]) == 0 {
		return nil, infos
	}
	a := make([]byte, 24*le.Uint32(infos[4:]))
	mac.ReadMemory(p.task, le.Uint64(infos[8:]), a)
	for ; len(a) > 0; a = a[24:] {
		im := p.parse(le.Uint64(a))
		im.path = p.str(le.Uint64(a[8:]))
		all = append(all, im)
	}
	return
}

func images(n int) {
	p := open(700)
	all, infos := p.images()
	check.Eq("images", len(all), n)
	im := all[0]
	check.Eq("main program", fmt.Sprintf("%x %s %s", im.load, im.path, im.uuid), "104a30000 /Applications/App.app/Contents/MacOS/App aabbccdd00112233445566778899aabb")
	check.Eq("symbols", im.syms, "_main@3f00/f _compute@4000/f _loop@4180/f secret@5000/e")
	check.Eq("function starts", im.starts, "3f00 4000 4180 5000")
	im = all[2]
	check.Eq("image of the cache", fmt.Sprintf("%x %s %x", im.load-slide, im.syms, im.flags>>31), "180400000 _mach_msg2_trap@ce0/f ___psynch_cvwait@45d0/f 1")
	check.Eq("cache in the infos", fmt.Sprintf("%x %x %x", le.Uint64(infos[152:]), infos[160:164], le.Uint64(infos[176:])), "4c4000 11111111 1804c4000")
	dyld := p.parse(le.Uint64(infos[32:]))
	check.Ok("dyld", len(dyld.uuid) == 32 && p.str(le.Uint64(infos[192:])) == "/usr/lib/dyld", dyld)
	// uuids of what is not in the cache
	uu := make([]byte, 24*le.Uint64(infos[88:]))
	mac.ReadMemory(p.task, le.Uint64(infos[96:]), uu)
	check.Eq("uuid array", fmt.Sprintf("%d %x", len(uu)/24, uu[8:12]), fmt.Sprintf("%d aabbccdd", n-1))
	when := (le.Uint64(infos[184:])*125/3)/1000000000 - 1000
	if n == 4 {
		check.Eq("changed at", int64(when), int64(-10))
	} else {
		check.Eq("changed at", int64(when), int64(30))
		im = all[4]
		check.Eq("plugin", fmt.Sprintf("%s %s [%s] %s", im.path, im.uuid, im.syms, im.starts), "/opt/plugin.dylib 0b0b0b0b000000000000000000000002 [] 900 a40")
	}
	// the cache's own table
	h := make([]byte, 0x4000)
	base := le.Uint64(infos[176:])
	mac.ReadMemory(p.task, base, h)
	to, tn := le.Uint64(h[136:]), le.Uint64(h[144:])
	t := h[to+32 : to+64]
	check.Eq("shared cache", fmt.Sprintf("%s %d %x %x %s", h[:15], tn, le.Uint64(t[16:]), le.Uint32(t[24:]), mac.GoString(h[le.Uint32(t[28:]):])),
		"dyld_v1  arm64e 2 180440000 d000 /usr/lib/system/libsystem_pthread.dylib")
	p.close()
	p = open(705)
	b := make([]byte, 20)
	kr, _ := mac.TaskInfo(p.task, 17, b)
	check.Eq("no images", fmt.Sprint(kr, le.Uint64(b)), "0 0")
	p.close()
	id := make([]byte, 16)
	// the program's own: an Intel one is translated on this machine
	uuid, magic := "11111111", "dyld_v1  arm64e"
	if runtime.GOARCH == "amd64" {
		uuid, magic = "99999999", "dyld_v1  x86_64"
	}
	check.Eq("_dyld_get_shared_cache_uuid", fmt.Sprintf("%v %x", mac.SharedCacheUUID(id), id[:4]), "true "+uuid)
	at, size := mac.SharedCacheRange()
	check.Ok("_dyld_get_shared_cache_range", at != 0 && size > 0x10000, at, size)
	if at != 0 {
		check.Eq("own shared cache", mac.GoString(mac.Bytes(at, 15)), magic)
	}
}
