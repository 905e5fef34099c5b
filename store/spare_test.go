package store_test

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/store"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// TestSpare damages the header and the catalogue, each of which is in the
// archive twice.
func TestSpare(t *testing.T) {
	w := storetest.NewWorld(1)
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "a"))
	h := &history{}
	for range 20 {
		tick := w.Tick()
		h.ticks = append(h.ticks, tick)
		b.Append(tick)
	}
	b.Seal(nil)
	b.Close()
	db, err := disk.OS.OpenBolt(b.Path, 0o600, bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if err := tx.Bucket([]byte(layout.BucketMeta)).Put([]byte(layout.MetaArchive), []byte("x")); err != nil {
			return err
		}
		return tx.Bucket([]byte(layout.BucketMetrics)).Put(layout.NumberKey(0), []byte("x"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := store.Open(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read(t, r, store.Selection{}).Compare(t, h.ledger(everything))
	if r.Archives()[0].Damage == nil {
		t.Fatal("the damage is not told")
	}
}
