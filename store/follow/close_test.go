package follow_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tachograph/store/follow"
)

// Who waits in Next, or reads, may be told by Close that it is over.
func TestCloseBesideNext(t *testing.T) {
	r := newRecorder(t, 11, 400)
	for r.next < 200 {
		r.record()
	}
	first := follow.Position{Archive: archiveOf(t, r.dir)}
	for n := range 200 {
		f := open(t, follow.Options{From: first}, r.dir)
		var group sync.WaitGroup
		read := make(chan struct{}, 1000)
		group.Go(func() {
			for {
				if _, err := f.Next(context.Background()); err != nil {
					if !errors.Is(err, follow.ErrClosed) {
						t.Error(err)
					}
					return
				}
				read <- struct{}{}
			}
		})
		for range n % 100 {
			<-read
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
