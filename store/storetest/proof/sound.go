package proof

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/store/layout"
	"tachograph/store/mend"
)

// Sound fails the test for everything that Verify or bbolt's own check finds in the finished
// archives of a directory, or in one archive. Helpers that make archives for a test call it when
// the test ends; a test that damages archives on purpose does not use those helpers.
func Sound(t testing.TB, path string) {
	t.Helper()
	files := []string{path}
	if filepath.Ext(path) != layout.FinishedSuffix {
		files, _ = filepath.Glob(filepath.Join(path, "*"+layout.FinishedSuffix))
	}
	for _, f := range files {
		if st, err := os.Lstat(f); err != nil || !st.Mode().IsRegular() {
			continue
		}
		found, err := mend.Verify(f, nil)
		if err != nil {
			t.Error(err)
		}
		for _, what := range found {
			t.Errorf("verify: %v", what)
		}
		CheckBolt(t, f)
	}
}

// CheckBolt runs bbolt's own check of a file.
func CheckBolt(t testing.TB, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: time.Minute})
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("%s: bbolt check: %v", filepath.Base(path), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
