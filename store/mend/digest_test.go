package mend_test

import (
	"encoding/binary"
	"hash/crc32"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/layout"
	"tachograph/store/mend"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// entries yields what is in a bucket.
func entries(b *bbolt.Bucket) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		c := b.Cursor()
		for key, value := c.First(); key != nil && yield(key, value); key, value = c.Next() {
		}
	}
}

// TestVerifyFindsDigestsThatLie gives digests, short and long ones, a content that their chunks do
// not have, with a right checksum. Verify must find them, and Repair must leave them out.
func TestVerifyFindsDigestsThatLie(t *testing.T) {
	c := storetest.NewCrowd(4, true, false)
	clock := proof.NewClock(c.At)
	w, err := recording.Create(recording.Options{Dir: t.TempDir(), Host: metric.Host{ID: "id", Name: "h"}, BootID: "boot",
		Catalog: c.Group.Metrics, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 900 {
		tick := c.Tick()
		clock.Set(tick.At)
		if err := w.Append(tick); err != nil {
			t.Fatal(err)
		}
	}
	path, err := w.Rotate("a test")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	long, digests := false, 0
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(layout.BucketDigests))
		lies := make(map[string][]byte)
		for key, value := range entries(b) {
			lie := append([]byte(nil), value[:len(value)-4]...)
			at := 1 + 4*int(lie[0]) // the first clock, after the checksums of the chunks
			_, n := binary.Varint(lie[at:])
			lie[at+n] ^= 2 // the second clock: the lowest bit of a varint above its sign
			sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
			sum.Write([]byte(layout.BucketDigests + "\x00" + string(key) + "\x00"))
			sum.Write(lie)
			lies[string(key)] = binary.LittleEndian.AppendUint32(lie, sum.Sum32())
			long = long || len(key) == 9
		}
		digests = len(lies)
		for key, lie := range lies {
			if err := b.Put([]byte(key), lie); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := mend.Verify(path, nil)
	lies := 0
	for _, f := range found {
		if strings.Contains(f.String(), "digest of ") {
			lies++
		}
	}
	if err != nil || !long || lies != digests {
		t.Fatalf("%d of %d lies are found (a long one among them: %t): %v %v", lies, digests, long, found, err)
	}
	if _, err := mend.Repair(path, path+".repaired.tacho", nil); err != nil {
		t.Fatal(err)
	}
	if found, err := mend.Verify(path+".repaired.tacho", nil); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
}
