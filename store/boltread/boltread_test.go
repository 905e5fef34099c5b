package boltread

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// content is what a test database holds. A key is the path of buckets and the key, with a
// zero byte after each part.
type content map[string]string

// makeDB writes a database with random buckets, keys, values and deletions in
// several transactions and returns its path and content.
func makeDB(tb testing.TB, seed int64, pageSize, txs int) (string, content) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true, NoGrowSync: true, NoFreelistSync: seed%2 == 0})
	if err != nil {
		tb.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(seed))
	for range txs {
		if err := db.Update(func(tx *bbolt.Tx) error { return mutate(tx, rnd) }); err != nil {
			tb.Fatal(err)
		}
	}
	want := content{}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return collect(want, string(name)+"\x00", b) })
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return path, want
}

func mutate(tx *bbolt.Tx, rnd *rand.Rand) error {
	for range 1 + rnd.Intn(4) {
		b, err := tx.CreateBucketIfNotExists(fmt.Appendf(nil, "bucket %d", rnd.Intn(5)))
		if err != nil {
			return err
		}
		for rnd.Intn(3) == 0 {
			if b, err = b.CreateBucketIfNotExists(fmt.Appendf(nil, "~sub %d", rnd.Intn(4))); err != nil {
				return err
			}
		}
		for range rnd.Intn(60) {
			key := fmt.Appendf(nil, "%06d%s", rnd.Intn(4000), bytes.Repeat([]byte("k"), rnd.Intn(40)))
			if rnd.Intn(5) == 0 {
				if k, v := b.Cursor().Seek(key); k != nil && v != nil {
					if err := b.Delete(k); err != nil {
						return err
					}
				}
				continue
			}
			if err := b.Put(key, randomValue(rnd)); err != nil {
				return err
			}
		}
	}
	return nil
}

func randomValue(rnd *rand.Rand) []byte {
	n := rnd.Intn(200)
	switch rnd.Intn(20) {
	case 0:
		n = 0
	case 1:
		n = rnd.Intn(6000)
	case 2:
		n = rnd.Intn(60000)
	}
	v := make([]byte, n)
	rnd.Read(v)
	return v
}

func collect(into content, path string, b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if sub := b.Bucket(k); sub != nil && v == nil {
			into[path+string(k)+"\x00"] = "bucket"
			return collect(into, path+string(k)+"\x00", sub)
		}
		into[path+string(k)] = string(v)
		return nil
	})
}

// readAll returns everything that a snapshot holds.
func readAll(tb testing.TB, s *Snapshot) content {
	got := content{}
	var walk func(path string, b *Bucket)
	walk = func(path string, b *Bucket) {
		c := b.Cursor()
		var last []byte
		for ok := c.First(); ok; ok = c.Next() {
			if last != nil && bytes.Compare(last, c.Key()) >= 0 {
				tb.Errorf("%q: key %q after %q", path, c.Key(), last)
			}
			last = c.Key()
			if c.IsBucket() {
				sub, err := c.Bucket()
				if err != nil {
					continue
				}
				if path != "" {
					got[path+string(c.Key())+"\x00"] = "bucket"
				}
				walk(path+string(c.Key())+"\x00", sub)
				continue
			}
			v, err := c.Value()
			if err != nil {
				continue
			}
			if len(v) != c.ValueSize() {
				tb.Errorf("%q: value of %d bytes, ValueSize says %d", path, len(v), c.ValueSize())
			}
			sec, err := io.ReadAll(c.Section())
			if err == nil && !bytes.Equal(sec, v) {
				tb.Errorf("%q: section of %d bytes differs from value of %d", path, len(sec), len(v))
			}
			got[path+string(c.Key())] = string(v)
		}
	}
	walk("", s.Root())
	return got
}

func openPath(tb testing.TB, path string) *Snapshot {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	s, err := Open(FileSource(f))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func compare(tb testing.TB, want, got content) {
	tb.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			tb.Errorf("%q: found %v with %d bytes, want %d bytes", k, ok, len(g), len(v))
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			tb.Errorf("%q: not in the database", k)
		}
	}
}

func TestReadsWhatBboltWrote(t *testing.T) {
	for _, pageSize := range []int{1024, 4096, 16384} {
		for seed := range int64(6) {
			t.Run(fmt.Sprintf("page %d seed %d", pageSize, seed), func(t *testing.T) {
				path, want := makeDB(t, seed, pageSize, 40)
				s := openPath(t, path)
				compare(t, want, readAll(t, s))
				for _, d := range s.Damage() {
					t.Errorf("sound file reported as damaged: %v", d)
				}
				for _, d := range s.Check(nil) {
					t.Errorf("Check of a sound file: %v", d)
				}
				if changed, err := s.Changed(); changed || err != nil {
					t.Errorf("Changed = %v, %v", changed, err)
				}
			})
		}
	}
}

func TestCursorSeeksLikeBbolt(t *testing.T) {
	path, _ := makeDB(t, 3, 4096, 60)
	s := openPath(t, path)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rnd := rand.New(rand.NewSource(1))
	tx, err := db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for i := range 5 {
		name := fmt.Sprintf("bucket %d", i)
		theirs := tx.Bucket([]byte(name))
		ours, err := s.Bucket(name)
		if theirs == nil || err != nil {
			t.Fatalf("bucket %s: %v, %v", name, theirs, err)
		}
		c, bc := ours.Cursor(), theirs.Cursor()
		same := func(what string, ok bool, k []byte) {
			t.Helper()
			if ok != (k != nil) || !bytes.Equal(c.Key(), k) {
				t.Fatalf("%s: %s: %v %q, bbolt has %q", name, what, ok, c.Key(), k)
			}
		}
		for range 2000 {
			key := fmt.Appendf(nil, "%06d", rnd.Intn(4100))
			k, _ := bc.Seek(key)
			same("Seek "+string(key), c.Seek(key), k)
			v, err := ours.Get(key)
			if want := theirs.Get(key); !bytes.Equal(v, want) || (v == nil) != (want == nil) || err != nil {
				t.Fatalf("Get(%q) = %d bytes, %v; want %d", key, len(v), err, len(want))
			}
		}
		k, _ := bc.First()
		for ok := c.First(); ; ok = c.Next() {
			same("onwards", ok, k)
			if !ok {
				break
			}
			k, _ = bc.Next()
		}
	}
	if b, err := s.Bucket("no such bucket"); b != nil || err != nil {
		t.Errorf("missing bucket: %v, %v", b, err)
	}
}

// TestBesideWriter reads while bbolt writes. If Changed reports no change, what was read
// must be the content of one transaction.
func TestBesideWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	put := func(gen int) {
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			for i := range 200 {
				if err := b.Put(fmt.Appendf(nil, "%04d", i), bytes.Repeat([]byte{byte(gen)}, 100)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	put(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for gen := range 300 {
			put(gen)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sound := 0
	for running := true; running || sound == 0; {
		select {
		case <-done:
			running = false
		default:
		}
		s, err := Open(FileSource(f))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		n := 0
		if b, _ := s.Bucket("b"); b != nil {
			b.ForEach(func(k, v []byte) error { seen[string(v)] = true; n++; return nil })
		}
		if changed, err := s.Changed(); err != nil {
			t.Fatal(err)
		} else if changed {
			continue
		}
		sound++
		if len(seen) != 1 || n != 200 || len(s.Damage()) > 0 {
			t.Fatalf("transaction %d: %d keys of %d generations, damage %v", s.TxID(), n, len(seen), s.Damage())
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkOpenGet(b *testing.B) {
	path, _ := makeDB(b, 3, 4096, 200)
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(FileSource(f))
		if err != nil {
			b.Fatal(err)
		}
		for i := range 4 {
			bk, err := s.Bucket(fmt.Sprintf("bucket %d", i))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := bk.Get([]byte("000100")); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// smallDB returns a database of a few pages, small enough for mutations to hit every part.
func smallDB(tb testing.TB, keys int) []byte {
	path := filepath.Join(tb.TempDir(), "small.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 1024, NoSync: true})
	if err != nil {
		tb.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		a, err := tx.CreateBucket([]byte("bucket 1"))
		if err != nil {
			return err
		}
		in, err := a.CreateBucket([]byte("inline"))
		if err != nil {
			return err
		}
		for i := range keys {
			if err := a.Put(fmt.Appendf(nil, "%04d", i), make([]byte, i%50)); err != nil {
				return err
			}
			if i < 5 {
				if err := in.Put([]byte{byte(i)}, []byte("value")); err != nil {
					return err
				}
			}
		}
		return a.Put([]byte("long"), make([]byte, 3000))
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Open(bytesSource(data))
	if err != nil {
		tb.Fatal(err)
	}
	return data[:s.meta.Bytes()]
}

// sealMeta corrects the checksum of the meta page at off, so that a mutated page is
// accepted.
func sealMeta(data []byte, off int) {
	if len(data) < off+pageHeaderSize+metaSize {
		return
	}
	m := data[off+pageHeaderSize:]
	h := fnv.New64a()
	h.Write(m[:56])
	binary.LittleEndian.PutUint64(m[56:], h.Sum64())
}

func FuzzOpen(f *testing.F) {
	for n := range 3 {
		f.Add(smallDB(f, 10+40*n))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		for page := range 2 {
			sealMeta(data, page*1024)
		}
		s, err := Open(bytesSource(data))
		if err != nil {
			return
		}
		readAll(t, s)
		c := s.Root().Cursor()
		c.Seek([]byte("bucket 3"))
		s.Check(nil)
		n := 0
		Salvage(bytesSource(data), nil, func(f Found) error {
			if n++; n > 100000 {
				t.Fatal("salvage finds no end")
			}
			return nil
		})
	})
}
