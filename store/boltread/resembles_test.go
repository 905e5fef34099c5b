package boltread

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

func TestResembles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), bytes.Repeat([]byte("v"), 20000))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	headless := append(make([]byte, 8192), whole[8192:]...)
	for _, c := range []struct {
		name string
		file []byte
		want bool
	}{
		{"database", whole, true}, {"database without meta pages", headless, true}, {"nothing", nil, false}, {"one byte", []byte{1}, false},
		{"text", []byte(strings.Repeat("hello world\n", 20000)), false}, {"zeros", make([]byte, 1<<20), false}, {"ones", bytes.Repeat([]byte{1}, 1<<20), false},
		{"binary", bytes.Repeat([]byte{0, 1, 2, 3, 4, 5, 6, 7, 2, 0}, 50000), false},
	} {
		if got := Resembles(bytesSource(c.file)); got != c.want {
			t.Errorf("%s resembles a database: %v", c.name, got)
		}
	}
}
