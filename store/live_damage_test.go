package store

import (
	"math/rand"
	"path/filepath"
	"testing"

	"tachograph/sample/metric"
)

// recordDir makes a directory with a finished archive and a live one, as a
// killed recorder leaves it.
func recordDir(t *testing.T, seed uint64, n int) (string, []item) {
	t.Helper()
	dir := t.TempDir()
	list := items(seed, n)
	clock := list[0].at()
	w, err := Create(proofOptions(dir, seed, func() metric.Stamp { return clock }))
	if err != nil {
		t.Fatal(err)
	}
	sealed := int64(0)
	for i, it := range list {
		clock = it.at()
		if err := it.append(w); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if i == n/2 {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
			sealed = w.Status().Commits
		}
		if i == n*3/4 {
			// The archive is to have some chunks, not only a journal.
			waitFor(t, func() bool { return w.Status().Commits > sealed })
		}
	}
	// A copy of what lies there now is what a kill would leave.
	left := killed(t, dir)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return left, list
}

// TestDamagedDirectory damages each file of a directory with a finished and a
// live archive.
func TestDamagedDirectory(t *testing.T) {
	dir, list := recordDir(t, 11, 300)
	whole, damage, err := readDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("undamaged: %v, %v", err, damage)
	}
	if n, err := whole.checkPrefix(list, len(list)); err != nil || n != len(list) {
		t.Fatalf("undamaged: %d of %d items, %v", n, len(list), err)
	}
	files, err := archiveFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(3))
	for _, name := range files {
		tries := pick(t, 25, 5000)
		if isJournalName(filepath.Base(name)) {
			tries = pick(t, 4, 500) // there are many
		}
		damageFile(t, name, whole, list, tries, rnd)
	}
}
