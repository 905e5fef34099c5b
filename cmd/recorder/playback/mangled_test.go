package playback

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"tachograph/cmd/internal/pcpserve"
	"tachograph/store/query"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/recorded"
)

// TestMangled plays archives that are damaged, or that nobody means well with: nothing
// falls, stands still or grows.
func TestMangled(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 10
	}
	if os.Getenv("TACHO_LONG") != "" {
		n = 5000
	}
	whole, _ := recorded.RecordDir(t, 11, 150)
	for i := range n {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		what, err := mangle.Directory(rand.New(rand.NewPCG(uint64(i), 16)), dir)
		if err != nil {
			t.Fatal(err)
		}
		playMangled(t, fmt.Sprintf("%d (%s)", i, what), dir)
		os.RemoveAll(dir)
	}
}

func playMangled(t *testing.T, what, dir string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Open(dir)
	if err != nil {
		return
	}
	for _, h := range r.Hosts() {
		_, to, _ := query.Covered(r, query.Window{Hosts: []string{h.ID}})
		for _, opt := range []Options{{Speed: 1e6, Loop: true}, {From: to - 1e9}, {From: to / 2, Speed: 1e6}} {
			opt.Host = h.ID
			p, err := New(opt, r, dir)
			if err != nil {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx) }()
			s := pcpserve.NewServer(p, pcpserve.Options{})
			for ctx.Err() == nil {
				p.Fetch(ctx, p.Catalog().Descs)
				for _, d := range p.Catalog().Descs {
					if d.Indom != "" {
						p.Instances(ctx, d.Indom)
					}
					s.Metric(d.Name)
				}
			}
			cancel()
			select {
			case <-ended: // an error says that they cannot be followed
			case <-time.After(time.Minute):
				t.Fatalf("%s: it does not end", what)
			}
		}
	}
	r.Close()
	runtime.ReadMemStats(&after)
	if after.HeapSys > before.HeapSys+300<<20 {
		t.Errorf("%s takes %d MB", what, (after.HeapSys-before.HeapSys)>>20)
	}
}
