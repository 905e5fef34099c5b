package store

import (
	"errors"
	"io/fs"
	"testing"

	"tachograph/sample/metric"
)

// TestVerifyBesideWriter verifies a directory again and again while a writer
// seals, commits and rotates in it: nothing may look damaged that is not.
func TestVerifyBesideWriter(t *testing.T) {
	dir := t.TempDir()
	list := items(17, pick(t, 1200, 20000))
	clock := list[0].at()
	w, err := Create(proofOptions(dir, 17, func() metric.Stamp { return clock }))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for i, it := range list {
			w.mu.Lock()
			clock = it.at()
			w.mu.Unlock()
			if err := it.append(w); err != nil {
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
		findings, err := Verify(dir, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, f := range findings {
			t.Errorf("round %d: %v", rounds, f)
		}
	}
	t.Logf("verified %d times", rounds)
}
