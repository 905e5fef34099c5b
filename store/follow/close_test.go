package follow_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tachograph/store/follow"
)

// Close ends a Next that reads or waits in another goroutine.
func TestCloseBesideNext(t *testing.T) {
	r := newRecorder(t, 11, 400)
	for r.next < 200 {
		r.record()
	}
	first := follow.Position{Archive: archiveOf(t, r.dir)}
	for n := range 200 {
		f := open(t, follow.Options{From: first}, r.dir)
		var group sync.WaitGroup
		read := make(chan bool, 1000)
		group.Go(func() {
			for {
				it, err := f.Next(context.Background())
				if err != nil {
					if !errors.Is(err, follow.ErrClosed) {
						t.Error(err)
					}
					return
				}
				read <- it.Present
			}
		})
		for k := 0; k < n%100 || n%4 == 0; k++ {
			if <-read {
				break // From now on it waits.
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		group.Wait()
	}
}

// archiveOf is the ID of the archive that is being written in dir.
func archiveOf(t *testing.T, dir string) string {
	t.Helper()
	f := open(t, follow.Options{}, dir)
	defer f.Close()
	return f.Position().Archive
}
