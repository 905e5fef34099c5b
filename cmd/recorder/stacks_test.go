package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/rewrite"
)

// program makes up the stacks of one: a few hundred ways through its functions,
// some taken often and most seldom, and where in the innermost function it
// happens to be seen is spread over its body.
type program struct {
	images []*stack.Image
	random *rand.Rand
	often  *rand.Zipf
}

func (p *program) stack() []stack.Frame {
	way := p.often.Uint64()
	frames := make([]stack.Frame, 0, 32)
	// Ways part one after the other, so that those of like numbers have much in
	// common.
	for depth := range 8 + way%18 {
		function := (way>>(18-min(18, depth))<<5 + depth) * 0x9e3779b97f4a7c15 >> 52
		image := p.images[function%uint64(len(p.images))]
		frames = append(frames, stack.Frame{Image: image, Address: image.Base + function<<8 + 5, Name: fmt.Sprintf("work%d::function%d(int)", function%61, function)})
	}
	slices.Reverse(frames)
	frames[0].Address += 4 * uint64(p.random.IntN(12))
	return frames
}

// What stacks take in an archive, names of functions and all.
func TestStacksAreSmall(t *testing.T) {
	const threads, rate, seconds = 3, 99, 10
	random := rand.New(rand.NewPCG(1, 2))
	p := &program{random: random, often: rand.NewZipf(random, 1.3, 4, 400)}
	for i := range 12 {
		p.images = append(p.images, &stack.Image{Path: fmt.Sprintf("/usr/lib/libwork%d.dylib", i), ID: fmt.Sprintf("%08X-0000-0000-0000-%012X", i*77777, i*1234567), Base: 0x7f0000000000 + uint64(i)<<28})
	}
	path := filepath.Join(t.TempDir(), "stacks.tacho")
	w, err := rewrite.Create(path, rewrite.About{Host: metric.Host{ID: "h", Name: "h"}, Boot: "b"})
	if err != nil {
		t.Fatal(err)
	}
	now := metric.Stamp{Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), Awake: 1e9, Cont: 1e9}
	book := stack.NewBook(now)
	samples := 0
	for range seconds {
		for range rate {
			for thread := range threads {
				book.Add(&stack.Sample{Thread: stack.Thread{PID: 312, Process: "312/5123", Command: "worker", TID: uint64(0x7000 + thread)}, Frames: p.stack(), Count: 1})
				samples++
			}
		}
		now.Wall, now.Awake, now.Cont = now.Wall+1e9, now.Awake+1e9, now.Cont+1e9
		if err := w.Append(book.Tick(now)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d samples in %d bytes, %.1f each", samples, info.Size(), float64(info.Size())/float64(samples))
	if each := float64(info.Size()) / float64(samples); each > 30 {
		t.Errorf("a sample takes %.1f bytes, want at most 30", each)
	}
}
