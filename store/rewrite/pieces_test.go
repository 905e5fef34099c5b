package rewrite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tachograph/store/disk"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
)

// A split that was killed is undone by the next one into the directory, or finished where
// all its pieces were made.
func TestSplitThatWasKilled(t *testing.T) {
	proof.Unraced(t)
	src := filepath.Join(t.TempDir(), "a.tacho")
	machine(t, src, 3, 600)
	opt := rewrite.SplitOptions{Edges: every(time.Minute)}
	whole := t.TempDir()
	if _, err := split(t, whole, opt, src); err != nil {
		t.Fatal(err)
	}
	want := listed(t, whole)
	if len(want) < 5 {
		t.Fatalf("%d pieces", len(want))
	}
	for _, c := range []struct {
		name   string
		suffix string
		linked int // of its pieces that have their names, the first ones
		moved  bool
	}{
		{"while the first is made", "", 0, false},
		{"while names are given", "", 3, false},
		{"when all have names", ".made", len(want), false},
		{"while they are moved", ".made", 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			made := disk.Scratch(filepath.Join(dir, "tachograph-pieces")) + ".naming-1" + c.suffix
			if err := os.Mkdir(made, 0o700); err != nil {
				t.Fatal(err)
			}
			proof.PutFile(t, filepath.Join(made, "piece.tmp"), []byte("half"))
			for i, name := range want {
				b, err := os.ReadFile(filepath.Join(whole, name))
				if err != nil {
					t.Fatal(err)
				}
				here := filepath.Join(made, name)
				proof.PutFile(t, here, b)
				switch {
				case i < c.linked && c.moved:
					err = os.Rename(here, filepath.Join(dir, name))
				case i < c.linked:
					err = os.Link(here, filepath.Join(dir, name))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			mine := filepath.Join(dir, "mine.txt")
			proof.PutFile(t, mine, []byte("of the user"))
			// The next one is of nothing: what it leaves is what it has made of the other.
			if _, err := split(t, dir, rewrite.SplitOptions{CopyOptions: rewrite.CopyOptions{Boots: []string{"none"}}}, src); err == nil {
				t.Fatal("something was split of no boot")
			}
			left := []string{"mine.txt"}
			if c.suffix != "" {
				left = append(slices.Clone(want), left...)
			}
			slices.Sort(left)
			if got := listed(t, dir); !slices.Equal(got, left) {
				t.Errorf("there is %q, want %q", got, left)
			}
		})
	}
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
