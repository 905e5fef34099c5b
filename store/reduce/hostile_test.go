package reduce_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/query"
	"tachograph/store/reduce"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/proof"
)

// TestMangledSteps asks reduced archives that are damaged, or that a stranger made, and
// reduces them again: there may be nothing to answer, but nothing else may happen.
func TestMangledSteps(t *testing.T) {
	small := record(t, 21, 900, 1)[0]
	minute := reduced(t, reduce.Options{Step: time.Minute}, small)
	n := uint64(60)
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		for _, path := range []string{small, minute} {
			dir := t.TempDir()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(dir, "a.tacho")
			if err := os.WriteFile(at, b, 0o600); err != nil {
				t.Fatal(err)
			}
			did, err := mangle.Directory(rand.New(rand.NewPCG(seed, 3)), dir)
			if err != nil {
				t.Fatal(err)
			}
			proof.Brief(t, fmt.Sprintf("seed %d: %s", seed, did), func() {
				askAll(dir)
				again(at, filepath.Join(dir, "b.tacho"))
			})
		}
	}
}

func askAll(dir string) {
	r, err := store.Open(dir)
	if err != nil {
		return
	}
	defer r.Close()
	for range query.Ranges(r, query.RangeRequest{Request: query.Request{Metrics: metrics}, Percentiles: true}) {
	}
	for _, by := range []query.By{query.ByCPU, query.ByMemory} {
		_, _ = query.Top(r, query.Window{}, by, query.PerName, 5)
	}
	for range r.Lives("process", 0, 0) {
	}
	for range r.Select(store.Selection{}) {
	}
}

func again(from, to string) {
	f, err := archive.Open(from)
	if err != nil {
		return
	}
	defer f.Close()
	_ = reduce.Archive(context.Background(), to, []*archive.File{f}, reduce.Options{Step: 5 * time.Minute, Note: func(error) {}})
	_, _ = reduce.Biggest(context.Background(), []*archive.File{f}, 3)
}

// TestCutTooOften holds that a group that is cut at every reading becomes its steps, and
// that this is told; one that has too many of these is refused.
func TestCutTooOften(t *testing.T) {
	path := record(t, 22, 900, 1)[0]
	f, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for most, left := range map[int]int{600: 0, 10: 1} {
		defer reduce.SetMostColumns(most)()
		to := filepath.Join(t.TempDir(), "x.tacho")
		told := 0
		if err := reduce.Archive(context.Background(), to, []*archive.File{f}, reduce.Options{Step: time.Minute, Note: func(error) { told++ }}); err != nil {
			t.Fatal(err)
		}
		proof.Sound(t, to)
		r := open(t, to)
		n := 0
		for range r.Select(store.Selection{Metrics: []string{"t.level"}}) {
			n++
		}
		if told == 0 || (n == 0) != (left == 1) {
			t.Errorf("most %d: told %d times, %d runs", most, told, n)
		}
	}
}
