package store

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/store/storetest"
)

// TestSpare damages the header and the catalogue, each of which is in the
// archive twice.
func TestSpare(t *testing.T) {
	w := storetest.NewWorld(1)
	b := newBuilder(t, filepath.Join(t.TempDir(), "a"))
	h := &history{}
	for range 20 {
		tick := w.Tick()
		h.ticks = append(h.ticks, tick)
		b.append(tick)
	}
	b.seal(nil)
	b.update(func(tx *bbolt.Tx) error {
		if err := tx.Bucket([]byte(bucketMeta)).Put([]byte(metaArchive), []byte("x")); err != nil {
			return err
		}
		return tx.Bucket([]byte(bucketMetrics)).Put(numberKey(0), []byte("x"))
	})
	b.close()
	r, err := Open(b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read(t, r, Selection{}).Compare(t, h.ledger(everything))
	if r.Archives()[0].Damage == nil {
		t.Fatal("the damage is not told")
	}
}
