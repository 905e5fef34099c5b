package playback

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/store/query"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/seed"
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
	seed := seed.Of(t, 16)
	usual := playMangled(t, whole)
	t.Logf("the whole recording takes %d MB, one after the other", usual>>20)
	for i := range n {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		what, err := mangle.Directory(rand.New(rand.NewPCG(uint64(i), seed)), dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := playMangled(t, dir); got > 3*usual+64<<20 {
			t.Errorf("%d (%s) takes %d MB, the whole recording %d", i, what, got>>20, usual>>20)
		}
		os.RemoveAll(dir)
	}
}

// playMangled plays what is in dir and reports how many bytes were allocated, which are
// no fewer than are ever held and do not depend on when they are collected.
func playMangled(t *testing.T, dir string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Open(dir)
	if err != nil {
		return 0
	}
	for _, h := range r.Hosts() {
		_, to, _ := query.Covered(r, query.Window{Hosts: []string{h.ID}})
		for _, opt := range []Options{{Speed: 1e6, Loop: true}, {From: to - 1e9}, {From: to / 2, Speed: 1e6}} {
			opt.Host = h.ID
			for _, look := range []func(*Player){lookLate, look} {
				if p, err := New(opt, r, dir); err == nil {
					// Time stands still in a bubble while somebody waits for the kernel to tell
					// of files.
					p.present = func(*course) error { return nil }
					synctest.Test(t, func(t *testing.T) { look(p) })
				}
			}
		}
	}
	runtime.ReadMemStats(&after)
	for _, h := range r.Hosts() {
		if p, err := New(Options{Host: h.ID, Speed: 1e6}, r, dir); err == nil {
			followBriefly(p)
		}
	}
	r.Close()
	return after.TotalAlloc - before.TotalAlloc
}

// followBriefly plays to the end, and on if somebody may still be recording, until it is
// ended. Who does not end then, does not end the test either.
func followBriefly(p *Player) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	p.Fetch(ctx, p.Catalog().Descs)
	cancel()
	<-ended
}

// lookLate asks one that is ended as soon as it begins.
func lookLate(p *Player) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.now()
	p.Fetch(ctx, p.Catalog().Descs)
	p.Instances(ctx, "process")
	p.Run(ctx)
	p.Fetch(ctx, p.Catalog().Descs)
}

// look plays for a while and asks for everything again and again. Who does not end
// then, does not end the test either.
func look(p *Player) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	s := pcpserve.NewServer(p, pcpserve.Options{})
	for range 4 {
		p.Fetch(ctx, p.Catalog().Descs)
		for _, d := range p.Catalog().Descs {
			if d.Indom != "" {
				p.Instances(ctx, d.Indom)
			}
			s.Metric(d.Name)
		}
		<-time.After(50 * time.Microsecond)
	}
	cancel()
	<-ended // an error says that they cannot be followed
}
