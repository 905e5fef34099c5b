package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A failure is a test that failed, with the seeds of the orders in which it did.
type failure struct {
	pkg, test string
	seeds     []uint64
	output    string // the file with what it printed the first time
}

// A tally counts failures over all rounds.
type tally struct {
	mu       sync.Mutex
	failures map[string]*failure
	runs     int // of packages
	rounds   int
	stopped  bool
}

func newTally() *tally { return &tally{failures: make(map[string]*failure)} }

// round runs each package's tests once. A signal on stop ends it after the tests that are
// running.
func (t *tally) round(o options, binaries []binary, seed uint64, stop <-chan os.Signal) {
	work := make(chan binary)
	var wg sync.WaitGroup
	for range max(o.parallel, 1) {
		wg.Go(func() {
			for b := range work {
				failed, output := b.run(o, seed)
				t.add(b.pkg, seed, failed, output)
			}
		})
	}
feed:
	for _, b := range binaries {
		select {
		case work <- b:
		case <-stop:
			t.stopped = true
			break feed
		}
	}
	close(work)
	wg.Wait()
	t.rounds++
}

func (t *tally) add(pkg string, seed uint64, failed []string, output string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	for _, test := range failed {
		key := pkg + " " + test
		f := t.failures[key]
		if f == nil {
			f = &failure{pkg: pkg, test: test, output: keep(pkg, seed, output)}
			t.failures[key] = f
		}
		f.seeds = append(f.seeds, seed)
	}
}

// keep writes what a package's tests printed to a file and returns its name.
func keep(pkg string, seed uint64, output string) string {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("again-%s-%d.txt", strings.ReplaceAll(pkg, "/", "-"), seed))
	if err := os.WriteFile(name, []byte(output), 0o644); err != nil {
		return err.Error()
	}
	return name
}

// packages returns how many packages a test failed in.
func (t *tally) packages() int {
	seen := make(map[string]bool)
	for _, f := range t.failures {
		seen[f.pkg] = true
	}
	return len(seen)
}

// print writes the failures, the most frequent first.
func (t *tally) print(w io.Writer, o options, took time.Duration) {
	fmt.Fprintf(w, "%d rounds, %d runs of packages in %s beside %d busy loops and %d MB that are touched: %d tests failed\n",
		t.rounds, t.runs, took.Round(time.Second), o.busy, int64(o.hog)>>20, len(t.failures))
	var list []*failure
	for _, f := range t.failures {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *failure) int {
		return cmp.Or(cmp.Compare(len(b.seeds), len(a.seeds)), cmp.Compare(a.pkg+a.test, b.pkg+b.test))
	})
	for _, f := range list {
		fmt.Fprintf(w, "%4d of %d  %s  %s  -shuffle=%d  %s\n", len(f.seeds), t.rounds, f.pkg, f.test, f.seeds[0], f.output)
	}
}
