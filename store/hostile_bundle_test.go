package store_test

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/store"
)

// Of a bundle of which nothing can be read it is told of few why, and of how many it is so.
func TestNothingInABundleCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.tacho")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	for i := range 500 {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d.tacho", i), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	r, err := store.Open(path)
	if err == nil {
		r.Close()
		t.Fatal("it was opened")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) > 30 || lines[len(lines)-1] != "and so for 492 others" {
		t.Errorf("%d lines: %s", len(lines), lines[len(lines)-1])
	}
}
