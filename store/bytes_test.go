package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// TestWhereTheBytesAre says where the bytes of archives are that
// TACHO_CHECK_ARCHIVES names.
func TestWhereTheBytesAre(t *testing.T) {
	paths := filepath.SplitList(os.Getenv(archivesVariable))
	if len(paths) == 0 {
		t.Skip("no archives in " + archivesVariable)
	}
	for _, p := range paths {
		t.Log(p)
		logBytes(t, p)
	}
}

// logBytes says where the bytes of an archive are: in its buckets, pages and
// their slack, and in the parts of its chunks.
func logBytes(t testing.TB, path string) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		rest := tx.Size()
		t.Logf("%9d bytes in all", rest)
		err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			logBucket(t, string(name), b, &rest)
			return nil
		})
		t.Logf("%9d elsewhere: headers, root, free pages", rest)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	logParts(t, path)
}

func logBucket(t testing.TB, name string, b *bbolt.Bucket, rest *int64) {
	s := b.Stats()
	records, content := 0, 0
	b.ForEach(func(k, v []byte) error {
		if inner := b.Bucket(k); inner != nil {
			inner.ForEach(func(k, v []byte) error {
				records, content = records+1, content+len(k)+len(v)
				return nil
			})
		} else {
			records, content = records+1, content+len(k)+len(v)
		}
		return nil
	})
	pages := s.BranchAlloc + s.LeafAlloc
	*rest -= int64(pages)
	t.Logf("%9d %-8s %d records of %d bytes, %d slack", pages, name, records, content, pages-content)
}

// logParts says where the bytes of the chunks are.
func logParts(t testing.TB, path string) {
	a, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	total := make(map[string]chunk.Parts)
	var all chunk.Parts
	for _, ref := range a.Chunks {
		c, err := ref.Open()
		if err != nil {
			t.Fatal(err)
		}
		for name, parts := range c.Parts() {
			name = ref.Info.Class.String() + " " + name
			sum := total[name]
			sum.Add(parts)
			total[name] = sum
			all.Add(parts)
		}
	}
	names := make([]string, 0, len(total))
	for name := range total {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Logf("%-20s %v", name, total[name])
	}
	t.Logf("%-20s %v", "", all)
}
