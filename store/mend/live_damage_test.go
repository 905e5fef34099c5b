package mend_test

import (
	"math/rand"
	"path/filepath"
	"testing"

	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// TestDamagedDirectory damages each file of a directory with a finished archive and a live
// one.
func TestDamagedDirectory(t *testing.T) {
	dir, list := recorded.RecordDir(t, 11, 300)
	whole, damage, err := proof.ReadDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("undamaged: %v, %v", err, damage)
	}
	if n, err := whole.CheckPrefix(list, len(list)); err != nil || n != len(list) {
		t.Fatalf("undamaged: %d of %d items, %v", n, len(list), err)
	}
	files, err := layout.FilesAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(3))
	for _, name := range files {
		tries := proof.Pick(t, 25, 5000)
		if layout.IsJournalName(filepath.Base(name)) {
			tries = proof.Pick(t, 4, 500) // there are many
		}
		damageFile(t, name, whole, list, tries, rnd)
	}
}
