package store_test

import (
	"context"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/storetest/recorded"
)

// Once its context has ended a Reader hands out nothing, and says of nothing that it
// was lost.
func TestReaderUntil(t *testing.T) {
	dir, _ := recorded.RecordDir(t, 7, 300)
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	domains := make(map[string]bool)
	for _, d := range r.Metrics() {
		domains[d.Indom] = true
	}
	count := func(of store.Archive) (n int) {
		for range of.Select(store.Selection{Prior: true, From: r.Archives()[0].From + 1}) {
			n++
		}
		for range of.Summarize(store.Selection{}) {
			n++
		}
		for range of.Readings(store.Selection{}) {
			n++
		}
		for indom := range domains {
			for range of.Lives(indom, 0, 0) {
				n++
			}
			keys, _ := of.Keys(indom, 0, 0, &store.Sought{}, func(*metric.Instance) bool { return true })
			n += len(keys)
		}
		return n
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Until(ctx)
	before := count(r)
	if before == 0 {
		t.Fatal("there is nothing to read")
	}
	if got := count(r); got != before {
		t.Errorf("%d things the second time, %d the first", got, before)
	}
	// In the midst of an answer it ends, too.
	n := 0
	for range r.Select(store.Selection{}) {
		if n++; n == 1 {
			cancel()
		}
	}
	if n >= before {
		t.Errorf("%d runs after the end", n)
	}
	if got := count(r); got > len(domains) {
		t.Errorf("%d things after the end", got)
	}
	twin, end := r.Twin()
	if got := count(twin); got > len(domains) {
		t.Errorf("its twin has %d things after the end", got)
	}
	end()
	if lost := r.Losses(); len(lost) > 0 {
		t.Errorf("it lost %v", lost)
	}
}
