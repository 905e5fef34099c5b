package mend_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/store/fault"
	"tachograph/store/mend"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// TestVerifyBesideWriter verifies a directory again and again while a writer seals, commits
// and rotates in it. Nothing sound may look damaged.
func TestVerifyBesideWriter(t *testing.T) {
	dir := t.TempDir()
	list := proof.Items(17, proof.Pick(t, 1200, 20000))
	var clock proof.Clock
	clock.Set(list[0].At())
	w, err := recording.Create(recorded.ProofOptions(dir, 17, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for i, it := range list {
			clock.Set(it.At())
			if err := it.Append(w); err != nil {
				done <- err
				return
			}
			if i%400 == 399 {
				if _, err := w.Rotate("test"); err != nil {
					done <- err
					return
				}
			}
		}
		done <- w.Close()
	}()
	rounds := 0
	for running := true; running; rounds++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		findings, err := mend.Verify(dir, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, f := range findings {
			t.Errorf("round %d: %v", rounds, f)
		}
	}
	t.Logf("verified %d times", rounds)
}

// When a writer has finished an archive, it removes the journal before the live file.
// Between the two, nothing may be reported as missing.
func TestVerifyWhatIsBeingRemoved(t *testing.T) {
	dir := t.TempDir()
	list := proof.Items(17, 400)
	var clock proof.Clock
	clock.Set(list[0].At())
	w, err := recording.Create(recorded.ProofOptions(dir, 17, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range list {
		clock.Set(it.At())
		if err := it.Append(w); err != nil {
			t.Fatal(err)
		}
	}
	live, err := filepath.Glob(filepath.Join(dir, "*.live"))
	if err != nil || len(live) != 1 {
		t.Fatal(live, err)
	}
	before, err := os.ReadFile(live[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	missing := func() bool {
		if err := os.WriteFile(live[0], before, 0o644); err != nil {
			t.Fatal(err)
		}
		findings, err := mend.Verify(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if strings.Contains(f.What, "is not beside it") {
				return true
			}
		}
		return false
	}
	if missing() {
		t.Error("the journal of an archive that was finished is told to be missing")
	}
	done, err := filepath.Glob(filepath.Join(dir, "*.tacho"))
	if err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
	if err := os.Remove(done[0]); err != nil {
		t.Fatal(err)
	}
	if !missing() {
		t.Error("the journal of an archive that was not finished is not told to be missing")
	}
}

// A file in which nothing can be found is not an archive. It is a damaged archive if a
// little of it is left, or if there are journals beside it.
func TestForeignIsNotDamaged(t *testing.T) {
	rec := makeArchive(t, 1, 90, 120)
	whole, err := os.ReadFile(rec.archive)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, len(whole))
	for _, c := range []struct {
		name            string
		content         []byte
		beside, foreign bool
	}{
		{"zeros", zeros, false, true},
		{"zeros beside a journal", zeros, true, false},
		{"without its meta pages", slices.Concat(zeros[:2*os.Getpagesize()], whole[2*os.Getpagesize():]), false, false},
		{"cut within its first page", whole[:1000], false, false},
		{"cut in half", whole[:len(whole)/2], false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.Base(rec.archive))
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.beside {
				if err := os.Link(rec.journal, filepath.Join(dir, filepath.Base(rec.journal))); err != nil {
					t.Fatal(err)
				}
			}
			findings, err := mend.Verify(path, nil)
			if got := fault.Of(err) == fault.NotArchive; got != c.foreign || !got && (err != nil || len(findings) == 0) {
				t.Errorf("verified: %v, %v", findings, err)
			}
			dst := filepath.Join(dir, "new.tacho")
			_, err = mend.Repair(path, dst, nil)
			if got := fault.Of(err) == fault.NotArchive; got != c.foreign || c.beside && err != nil {
				t.Errorf("repaired: %v", err)
			}
			if findings, err = mend.Verify(dir, nil); err != nil || len(findings) == 0 {
				t.Errorf("in its directory: %v, %v", findings, err)
			}
		})
	}
}
