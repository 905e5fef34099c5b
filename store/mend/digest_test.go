package mend_test

import (
	"encoding/binary"
	"hash/crc32"
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

// TestVerifyFindsDigestsThatLie gives a digest content that its chunks do not have, with a
// right checksum. Verify must find it, and Repair must leave it out.
func TestVerifyFindsDigestsThatLie(t *testing.T) {
	c := storetest.NewCrowd(4, true, false)
	clock := proof.NewClock(c.At)
	w, err := recording.Create(recording.Options{Dir: t.TempDir(), Host: metric.Host{ID: "id", Name: "h"}, BootID: "boot",
		Catalog: c.Group.Metrics, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 450 {
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
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(layout.BucketDigests))
		key, value := b.Cursor().First()
		if key == nil {
			t.Fatal("there is no digest")
		}
		lie := append([]byte(nil), value[:len(value)-4]...)
		at := 1 + 4*int(lie[0]) // the first clock, after the checksums of the chunks
		_, n := binary.Varint(lie[at:])
		lie[at+n] ^= 2 // the second clock: the lowest bit of a varint above its sign
		sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		sum.Write([]byte(layout.BucketDigests + "\x00" + string(key) + "\x00"))
		sum.Write(lie)
		return b.Put(key, binary.LittleEndian.AppendUint32(lie, sum.Sum32()))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := mend.Verify(path, nil)
	if err != nil || len(found) == 0 || !strings.Contains(found[0].String(), "digest of chunk 0") {
		t.Fatal(found, err)
	}
	if _, err := mend.Repair(path, path+".repaired.tacho", nil); err != nil {
		t.Fatal(err)
	}
	if found, err := mend.Verify(path+".repaired.tacho", nil); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
}
