package boltread

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// An element with a wrong offset of its own is readable but damaged: bbolt would read a
// bucket at that offset, and panic in a goroutine of its own.
func TestWrongPlaceIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"alpha", "beta", "gamma"}
	if err := db.Update(func(tx *bbolt.Tx) error {
		for _, name := range names {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			if err := b.Put([]byte("key"), bytes.Repeat([]byte("v"), 3000)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(bytesSource(b))
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Check(nil); len(d) > 0 {
		t.Fatalf("it is sound: %v", d)
	}
	// The element of beta, which is the second on the root page.
	row := b[int(s.Root().root)*4096+pageHeaderSize+elemSize:]
	binary.LittleEndian.PutUint32(row[4:], binary.LittleEndian.Uint32(row[4:])^4)
	if s, err = Open(bytesSource(b)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if sub, err := s.Bucket(name); err != nil || sub == nil {
			t.Errorf("bucket %s: %v", name, err)
		}
	}
	if d := s.Check(nil); len(d) == 0 {
		t.Error("the check finds nothing")
	}
}
