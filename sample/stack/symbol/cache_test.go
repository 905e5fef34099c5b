package symbol

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tachograph/sample/stack"
)

const (
	cacheID = "C0C0C0C0-C0C0-C0C0-C0C0-C0C0C0C0C0C0"
	cacheAt = 0x180000000
)

// cacheFiles returns the files of a shared cache: the first has the text of one image, the second
// its symbols, the third those that are local. The image has functions at 0x1000 and 0x1040 with
// exported names, and at 0x1080 and 0x10c0 ones whose names are elsewhere or nowhere.
func cacheFiles() map[string][]byte {
	const text, page, linkAt = 0x4000, 0x4000, cacheAt + 0x10000000
	uuid := func(b byte) []byte { return bytes.Repeat([]byte{b}, 16) }
	header := func(id byte, at, size uint64) []byte {
		b := make([]byte, page)
		copy(b, "dyld_v1  arm64e")
		little.PutUint32(b[16:], 0x1f0) // where the mappings are
		little.PutUint32(b[20:], 1)
		copy(b[88:], uuid(id))
		little.PutUint64(b[224:], cacheAt)
		copy(b[0x1f0:], words(at, size, uint64(0), uint32(5), uint32(5)))
		return b
	}
	symbols := func(names []byte, of map[string]uint64, order ...string) (b []byte) {
		for _, n := range order {
			b = append(b, words(uint32(bytes.Index(names, []byte(n+"\x00"))), byte(0x0e), byte(1), uint16(0), of[n])...)
		}
		return b
	}
	const image = cacheAt + text
	names := []byte("\x00_open\x00_read\x00<redacted>\x00")
	table := symbols(names, map[string]uint64{"_open": image + 0x1000, "_read": image + 0x1040, "<redacted>": image + 0x1080}, "_read", "_open", "<redacted>")
	starts := []byte{0x80, 0x20, 0x40, 0x40, 0x40, 0}

	first := append(header(0xc0, cacheAt, text+page), make([]byte, text+page-page)...)
	little.PutUint64(first[136:], 0x800) // one image
	little.PutUint64(first[144:], 1)
	copy(first[0x800:], words(uuid(0x11), uint64(image), uint32(0x2000), uint32(0x900)))
	copy(first[0x900:], "/usr/lib/libsystem.dylib\x00")
	little.PutUint32(first[392:], 0xa00) // one further file, and that of local symbols
	little.PutUint32(first[396:], 1)
	copy(first[400:], uuid(0xc2))
	copy(first[0xa00:], words(uuid(0xc1), uint64(linkAt-cacheAt), padded(".01", 32)))
	const at = 0x1000 // of the symbols in the second file
	copy(first[text:], bytes.Join([][]byte{
		words(uint32(0xfeedfacf), uint32(cpuArm64), uint32(0), uint32(6), uint32(5), uint32(72+72+24+24+16), uint32(0x80000000), uint32(0)),
		words(uint32(0x19), uint32(72), padded("__TEXT", 16), uint64(image), uint64(0x2000), uint64(text), uint64(0x2000), uint64(5), uint64(0)),
		words(uint32(0x19), uint32(72), padded("__LINKEDIT", 16), uint64(linkAt+at), uint64(0x1000), uint64(at), uint64(0x1000), uint64(1), uint64(0)),
		words(uint32(2), uint32(24), uint32(at), uint32(3), uint32(at+len(table)), uint32(len(names))),
		words(uint32(0x1b), uint32(24), uuid(0x11)),
		words(uint32(0x26), uint32(16), uint32(at+len(table)+len(names)), uint32(len(starts))),
	}, nil))

	second := header(0xc1, linkAt, page)
	copy(second[at:], bytes.Join([][]byte{table, names, starts}, nil))

	localNames := []byte("\x00_helper\x00")
	local := symbols(localNames, map[string]uint64{"_helper": image + 0x1080}, "_helper")
	third := header(0xc2, cacheAt+0x20000000, 0)
	little.PutUint64(third[72:], at)
	const info = 24
	copy(third[at:], bytes.Join([][]byte{
		words(uint32(info), uint32(1), uint32(info+len(local)), uint32(len(localNames)), uint32(info+len(local)+len(localNames)), uint32(1)),
		local, localNames, words(uint64(text), uint32(0), uint32(1)),
	}, nil))
	return map[string][]byte{"dyld_shared_cache_arm64e": first, "dyld_shared_cache_arm64e.01": second, "dyld_shared_cache_arm64e.symbols": third}
}

func TestSharedCache(t *testing.T) {
	const slide = 0x5000000
	in := &stack.Image{Path: "/usr/lib/libsystem.dylib", ID: "11111111-1111-1111-1111-111111111111", Base: cacheAt + 0x4000 + slide, Cache: true, CacheID: cacheID, CacheSlide: slide}
	nameless := *in
	nameless.Path, nameless.ID = "", ""
	other := *in
	other.CacheID = "C1C1C1C1-C1C1-C1C1-C1C1-C1C1C1C1C1C1"
	full := []string{"open", "read", "helper", ""}
	exported := []string{"open", "read", "", ""}
	none := []string{"", "", "", ""}
	for _, c := range []struct {
		name  string
		image *stack.Image
		spoil func(map[string][]byte)
		want  []string
	}{
		{"whole", in, nil, full},
		{"image without an ID", &nameless, nil, full},
		{"another cache", &other, nil, none},
		{"no local symbols", in, func(f map[string][]byte) { delete(f, "dyld_shared_cache_arm64e.symbols") }, exported},
		{"local symbols of another cache", in, func(f map[string][]byte) { f["dyld_shared_cache_arm64e.symbols"][90]++ }, exported},
		{"further file of another cache", in, func(f map[string][]byte) { f["dyld_shared_cache_arm64e.01"][90]++ }, none},
		{"cut off", in, func(f map[string][]byte) {
			f["dyld_shared_cache_arm64e"] = f["dyld_shared_cache_arm64e"][:0x900]
		}, none},
		{"further file cut off", in, func(f map[string][]byte) {
			f["dyld_shared_cache_arm64e.01"] = f["dyld_shared_cache_arm64e.01"][:0x1010]
		}, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, files := t.TempDir(), cacheFiles()
			if c.spoil != nil {
				c.spoil(files)
			}
			for name, b := range files {
				write(t, filepath.Join(dir, "dyld", name), b)
			}
			d, err := OpenDirectory(dir)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got, _, _, ok := d.Function(c.image, uint64(0x1004+0x40*i)); got != want || ok != (want != "") {
					t.Errorf("function %d is %q, want %q", i, got, want)
				}
			}
			if got, _, _, ok := d.Function(c.image, 0x2004); ok {
				t.Errorf("behind the image is %q", got)
			}
		})
	}
}

func FuzzSharedCache(f *testing.F) {
	files := cacheFiles()
	f.Add(files["dyld_shared_cache_arm64e"], files["dyld_shared_cache_arm64e.01"], files["dyld_shared_cache_arm64e.symbols"], uint64(cacheAt+0x5004))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, first, second, third []byte, addr uint64) {
		path := filepath.Join(dir, "cache")
		for name, b := range map[string][]byte{path: first, path + ".01": second, path + ".symbols": third} {
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if c := openCache(path); c != nil {
			c.function(addr)
			for _, m := range c.images[:min(len(c.images), 20)] {
				c.function(m.Load + 4)
			}
		}
	})
}
