package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/storetest/recorded"
)

// A file that cannot be opened is a loss of its own and no damage of the sound
// archive beside it.
func TestBadNeighbour(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(path string) error
		kind fault.Kind
	}{
		{"not an archive", func(path string) error { return os.WriteFile(path, []byte("hello, world"), 0o600) }, fault.NotArchive},
		{"empty", func(path string) error { return os.WriteFile(path, nil, 0o600) }, fault.NotArchive},
		{"a link to nowhere", func(path string) error { return os.Symlink("nowhere", path) }, fault.Other},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _ := recorded.RecordDir(t, 7, 300)
			files, err := filepath.Glob(filepath.Join(dir, "*.tacho"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			bad := filepath.Join(dir, "other-20260101T000000Z--20260102T000000Z.tacho")
			if err := c.make(bad); err != nil {
				t.Fatal(err)
			}
			r, err := store.Open(files[0], bad)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range r.Select(store.Selection{}) {
			}
			for _, a := range r.Archives() {
				if a.Damage != nil {
					t.Errorf("%s: %v", a.Path, a.Damage)
				}
			}
			losses := r.Losses()
			if len(losses) != 1 || losses[0].Path != bad || losses[0].Archive != nil || losses[0].Kind != c.kind || !strings.Contains(losses[0].What, bad) {
				t.Fatalf("losses %+v", losses)
			}
			if again := r.Losses(); again != nil {
				t.Errorf("told twice: %+v", again)
			}
			if err := r.Refresh(); err != nil {
				t.Fatal(err)
			}
			if again := r.Losses(); len(again) != 1 {
				t.Errorf("not told after a refresh: %+v", again)
			}
		})
	}
}

// A chunk that is damaged is a loss of the answers that wanted it, with its
// time, and of no other.
func TestLossesOfAnswers(t *testing.T) {
	dir, _ := recorded.RecordDir(t, 7, 300)
	files, err := filepath.Glob(filepath.Join(dir, "*.tacho"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// Two bits deep in the file's largest part meet a chunk, somewhere.
	met := false
	for at := len(b) / 4; at < len(b) && !met; at += 512 {
		b[at] ^= 0x30
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		b[at] ^= 0x30
		r, err := store.Open(files[0])
		if err != nil {
			continue
		}
		if r.Archives()[0].Damage == nil {
			for range r.Select(store.Selection{}) {
			}
			if losses := r.Losses(); len(losses) > 0 {
				met = true
				for _, l := range losses {
					if l.Path != files[0] || l.Archive != r.Archives()[0] || l.Kind != fault.Damaged || l.From == 0 || l.To < l.From {
						t.Errorf("loss %+v", l)
					}
				}
				for range r.Events(0, 0) {
				}
				if losses := r.Losses(); losses != nil {
					t.Errorf("events lack %v", losses)
				}
				if d := r.Archives()[0].Damage; d != nil {
					t.Errorf("answers changed what is said of the archive: %v", d)
				}
			}
		}
		r.Close()
	}
	if !met {
		t.Fatal("no damage met a chunk")
	}
}
