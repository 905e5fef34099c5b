package mend_test

import (
	"errors"
	"io/fs"
	"testing"

	"tachograph/store/mend"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// TestVerifyBesideWriter verifies a directory again and again while a writer
// seals, commits and rotates in it: nothing may look damaged that is not.
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
