package main

import (
	"syscall"
	"testing"
	"time"

	"tachograph/store"
)

// mappedEnv has the recorder that a test starts map so many MB which are not
// heap, as a long run under load does by itself.
const mappedEnv = "TACHOGRAPH_TEST_MAPPED"

// mapStacks makes goroutines that stand at the end of a stack of 64 KB each,
// until they have n MB.
func mapStacks(n int) {
	for range n * 16 {
		made := make(chan bool)
		go deep(64, made)
		<-made
	}
}

//go:noinline
func deep(n int, made chan<- bool) byte {
	var room [512]byte
	if n == 0 {
		made <- true
		select {}
	}
	return deep(n-1, made) + room[n]
}

// busy has processes read ten times a second.
const busy = "[classes]\nfast = \"100ms\"\npolled = \"1s\"\nprocess = \"100ms\"\n[budget]\nmax_cpu = \"off\"\n"

// TestTheCollectorRests records processes ten times a second, with 32 MB
// mapped beside the heap. Whatever bounds all that is mapped then leaves the
// heap no room: it is collected again as soon as a collection has ended.
func TestTheCollectorRests(t *testing.T) {
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, configFile(t, busy), mappedEnv+"=32")
	p.await("some seconds are over", func() bool { return p.valuesOf("recorder.collections") >= 5 })
	p.end(syscall.SIGTERM)
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var counts []uint64
	var clocks []int64
	for run := range r.Select(store.Selection{Metrics: []string{"recorder.collections"}}) {
		counts, clocks = append(counts, run.Bits...), append(clocks, run.Cont...)
	}
	last := len(counts) - 1
	if last < 1 {
		t.Fatalf("%d readings", last+1)
	}
	n, took := counts[last]-counts[0], time.Duration(clocks[last]-clocks[0])
	t.Logf("%d collections in %v", n, took.Round(time.Millisecond))
	// In a few seconds there are a few all the same; without a rest there are
	// forty a second.
	if perMinute := float64(n) / took.Minutes(); perMinute > 120 {
		t.Errorf("%.0f collections a minute", perMinute)
	}
}
