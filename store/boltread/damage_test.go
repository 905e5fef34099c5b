package boltread

import (
	"bytes"
	"cmp"
	"maps"
	"math/rand"
	"os"
	"sort"
	"testing"
)

// TestEitherMeta checks that a file with one broken meta page opens at the transaction of
// the other one, and reports the damage.
func TestEitherMeta(t *testing.T) {
	path, _ := makeDB(t, 4, 4096, 10)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(bytesSource(data))
	if err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		b := bytes.Clone(data)
		b[page*4096+pageHeaderSize+20] ^= 4
		got, err := Open(bytesSource(b))
		if err != nil {
			t.Fatalf("meta %d broken: %v", page, err)
		}
		want := s.TxID()
		if s.Meta().Page == page {
			want--
		}
		if got.TxID() != want {
			t.Errorf("meta %d broken: transaction %d, want %d", page, got.TxID(), want)
		}
		if len(got.Damage()) != 1 {
			t.Errorf("meta %d broken: damage %v", page, got.Damage())
		}
		b[(1-page)*4096+pageHeaderSize+20] ^= 4
		if _, err := Open(bytesSource(b)); err == nil {
			t.Error("a file without a valid meta page opened")
		}
	}
}

// TestFlippedBits flips single bits everywhere except in the bytes that lead from bucket to
// bucket. At most the one element whose key or value was hit may differ without a report.
func TestFlippedBits(t *testing.T) {
	path, want := makeDB(t, 7, 1024, 14)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := Open(bytesSource(data))
	if err != nil {
		t.Fatal(err)
	}
	data = data[:sound.meta.Bytes()]
	rnd := rand.New(rand.NewSource(2))
	n := 500
	if os.Getenv("TACHO_LONG") != "" {
		n = 5000
	}
	keys := make([]string, 0, len(want))
	for k := range want {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	heads := bucketHeads(t, sound.Root())
	for range n {
		at, bit := rnd.Intn(len(data)), byte(1)<<rnd.Intn(8)
		if heads[int64(at)] {
			continue // it may lead to another bucket's page, which cannot be noticed
		}
		data[at] ^= bit
		s, err := Open(bytesSource(data))
		if err != nil {
			t.Fatalf("bit %#x at %d: %v", bit, at, err)
		}
		got := readAll(t, s)
		damage := s.Damage()
		wrong := ""
		for _, k := range keys {
			g, ok := got[k]
			if ok && g == want[k] {
				continue
			}
			if len(damage) == 0 {
				if wrong != "" && !bytes.HasPrefix([]byte(k), []byte(wrong)) {
					t.Fatalf("bit %#x at %d: %q and %q are wrong without a report", bit, at, wrong, k)
				}
				wrong = cmp.Or(wrong, k)
			}
		}
		data[at] ^= bit
	}
}

// TestFlippedHeaders flips every bit of every page header, one at a time. The elements
// behind the header are undamaged, and all must be found.
func TestFlippedHeaders(t *testing.T) {
	path, want := makeDB(t, 9, 1024, 3)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := Open(bytesSource(data))
	if err != nil {
		t.Fatal(err)
	}
	sound.visited = make(map[uint64]bool)
	readAll(t, sound)
	flips, short := 0, 0
	for page := range sound.visited {
		for bit := range pageHeaderSize * 8 {
			at, mask := int(page)*1024+bit/8, byte(1)<<(bit%8)
			data[at] ^= mask
			s, err := Open(bytesSource(data))
			if err != nil {
				t.Fatal(err)
			}
			got := readAll(t, s)
			flips++
			for k, v := range want {
				if g, ok := got[k]; !ok || g != v {
					short++
					if len(s.Damage()) == 0 {
						t.Errorf("page %d, bit %d: %q is lost without a report", page, bit, k)
					}
					break
				}
			}
			data[at] ^= mask
		}
	}
	t.Logf("%d flips, %d of which cost a key", flips, short)
	if short > flips/200 {
		t.Errorf("%d of %d flips cost a key", short, flips)
	}
}

// bucketHeads returns the offsets in the file of the bytes that lead from one bucket to
// another.
func bucketHeads(t *testing.T, b *Bucket) map[int64]bool {
	t.Helper()
	heads := make(map[int64]bool)
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		if !c.IsBucket() {
			continue
		}
		p, e := c.at()
		for i := range int64(8) {
			heads[p.base+e.off+i] = true
		}
		sub, err := c.Bucket()
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(heads, bucketHeads(t, sub))
	}
	return heads
}

func TestTruncated(t *testing.T) {
	path, want := makeDB(t, 8, 4096, 20)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sound, _ := Open(bytesSource(data))
	end := int(sound.meta.Bytes())
	for n := 0; n < end; n += 1 + n/97 {
		s, err := Open(bytesSource(data[:n]))
		if err != nil {
			if n >= 2*4096 {
				t.Errorf("cut to %d bytes: %v", n, err)
			}
			continue
		}
		for k, v := range readAll(t, s) {
			if w, ok := want[k]; n >= 2*4096 && (!ok || w != v) {
				t.Errorf("cut to %d bytes: %q is wrong", n, k)
			}
		}
		if len(s.Damage()) == 0 {
			t.Errorf("cut to %d of %d bytes: no damage reported", n, end)
		}
	}
}
