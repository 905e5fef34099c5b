package boltread

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"os"
	"testing"
)

// salvaged collects what Salvage finds; of each key it keeps the first value.
func salvaged(t *testing.T, data []byte) (content, map[string]bool, []*Damage) {
	t.Helper()
	got, values := content{}, map[string]bool{}
	damage, err := Salvage(bytesSource(data), nil, func(f Found) error {
		v, err := f.Value()
		if err != nil {
			return nil
		}
		path := ""
		for _, b := range f.Bucket {
			path += b + "\x00"
		}
		if _, ok := got[path+string(f.Key)]; !ok && f.Bucket != nil {
			got[path+string(f.Key)] = string(v)
		}
		values[string(f.Key)+"\x00"+string(v)] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, values, damage
}

func TestSalvageOfSoundFile(t *testing.T) {
	path, want := makeDB(t, 2, 4096, 30)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, _, damage := salvaged(t, data)
	for k, v := range want {
		if v != "bucket" && got[k] != v {
			t.Errorf("%q: %d bytes, want %d", k, len(got[k]), len(v))
		}
	}
	if len(damage) > 0 {
		t.Errorf("damage in a sound file: %v", damage)
	}
}

// TestSalvageWithoutRoots destroys both meta pages. Every key must still be found in its
// page.
func TestSalvageWithoutRoots(t *testing.T) {
	path, want := makeDB(t, 3, 4096, 30)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[:2*4096])
	_, values, damage := salvaged(t, data)
	if len(damage) == 0 {
		t.Error("no damage reported")
	}
	for k, v := range want {
		key := k[bytes.LastIndexByte([]byte(k), 0)+1:]
		if v != "bucket" && !values[key+"\x00"+v] {
			t.Errorf("%q is lost", k)
		}
	}
}

// TestSalvageOfWipedPages wipes one page at a time. Everything on other pages must be found,
// whichever page led to it.
func TestSalvageOfWipedPages(t *testing.T) {
	path, want := makeDB(t, 5, 1024, 25)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(bytesSource(data))
	if err != nil {
		t.Fatal(err)
	}
	// in[k] is the range of pages that holds key k.
	type span struct{ from, to uint64 }
	in := map[string]span{}
	var walk func(path string, b *Bucket)
	walk = func(path string, b *Bucket) {
		c := b.Cursor()
		for ok := c.First(); ok; ok = c.Next() {
			if c.IsBucket() {
				sub, err := c.Bucket()
				if err != nil {
					t.Fatal(err)
				}
				walk(path+string(c.Key())+"\x00", sub)
				continue
			}
			p, _ := c.at()
			end := p.id
			if b.inline == nil {
				end += uint64(p.size / 1024)
			} else {
				end++
			}
			in[path+string(c.Key())] = span{p.id, end}
		}
	}
	walk("", s.Root())
	rnd := rand.New(rand.NewSource(1))
	for range 100 {
		page := uint64(rnd.Intn(int(s.meta.HighWater)))
		b := bytes.Clone(data)
		clear(b[page*1024 : (page+1)*1024])
		_, values, _ := salvaged(t, b)
		for k, v := range want {
			if v == "bucket" {
				continue
			}
			key := k[bytes.LastIndexByte([]byte(k), 0)+1:]
			if values[key+"\x00"+v] {
				continue
			}
			if at := in[k]; page < at.from || page >= at.to {
				t.Errorf("page %d wiped: %q on pages %d to %d is lost", page, k, at.from, at.to-1)
			}
		}
	}
}

// TestSalvageOfDoubledKeys copies a key over the one before it, one page at a time. A tree
// cannot hold a key twice, but both values must be found.
func TestSalvageOfDoubledKeys(t *testing.T) {
	path, want := makeDB(t, 5, 1024, 25)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(bytesSource(data))
	if err != nil {
		t.Fatal(err)
	}
	s.visited = make(map[uint64]bool)
	readAll(t, s)
	tried := 0
	for id := range s.visited {
		p, d := s.load(id)
		if d != nil || !p.leaf || len(p.elems) < 2 || len(p.elems[0].key) != len(p.elems[1].key) || p.elems[0].bucket {
			continue
		}
		tried++
		first, second := p.elems[0], p.elems[1]
		b := bytes.Clone(data)
		copy(b[p.base+first.off-int64(len(first.key)):], second.key)
		_, values, damage := salvaged(t, b)
		if len(damage) == 0 {
			t.Errorf("page %d: no damage reported", id)
		}
		for k, v := range want {
			if key := k[bytes.LastIndexByte([]byte(k), 0)+1:]; v != "bucket" && key != string(first.key) && !values[key+"\x00"+v] {
				t.Errorf("page %d: %q is lost", id, k)
			}
		}
	}
	if tried == 0 {
		t.Error("no two keys of one length")
	}
}

// TestSalvageOfEndlessNesting lets every bucket of a file point at the root, so that each
// contains all of them again.
func TestSalvageOfEndlessNesting(t *testing.T) {
	path, _ := makeDB(t, 6, 1024, 30)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(bytesSource(data))
	if err != nil {
		t.Fatal(err)
	}
	p, d := s.load(s.meta.Root)
	if d != nil {
		t.Fatal(d)
	}
	for i := range p.elems {
		binary.LittleEndian.PutUint64(data[p.base+p.elems[i].off:], s.meta.Root)
	}
	n := 0
	damage, err := Salvage(bytesSource(data), nil, func(Found) error { n++; return nil })
	if err != nil || len(damage) == 0 || n > 100000 {
		t.Errorf("%d found, damage %v, %v", n, damage, err)
	}
	if s, err = Open(bytesSource(data)); err != nil {
		t.Fatal(err)
	}
	if len(s.Check(nil)) == 0 {
		t.Error("Check finds nothing")
	}
}
