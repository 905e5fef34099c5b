package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
)

// TestReadings holds the instants of readings against those of the values, in
// windows that cut chunks, of finished and unfinished archives, of all instances
// and of some.
func TestReadings(t *testing.T) {
	for seed := range uint64(25) {
		h, paths := record(t, seed, 60)
		begin, end := h.ticks[0].At.Wall, h.ticks[len(h.ticks)-1].At.Wall
		for _, path := range paths {
			r, err := store.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for run := range r.Select(store.Selection{}) {
				if run.Instance != nil && !slices.Contains(keys, run.Instance.Key) && len(keys) < 3 {
					keys = append(keys, run.Instance.Key)
				}
			}
			for _, sel := range []store.Selection{{}, {Keys: keys}, {From: begin + (end-begin)/3, To: end - (end-begin)/4}, {From: end - (end-begin)/3, Keys: keys}} {
				want, got := make(map[*metric.Instance]map[int64]bool), make(map[*metric.Instance]map[int64]bool)
				note := func(to map[*metric.Instance]map[int64]bool, in *metric.Instance, walls []int64) {
					if to[in] == nil {
						to[in] = make(map[int64]bool)
					}
					for _, wall := range walls {
						to[in][wall] = true
					}
				}
				for run := range r.Select(sel) {
					if run.Instance != nil {
						note(want, run.Instance, run.Wall)
					}
				}
				for in, walls := range r.Readings(sel) {
					note(got, in, walls)
				}
				if !reflect.DeepEqual(want, got) {
					t.Error(fmt.Sprintf("seed %d, %s, from %d to %d, %d keys:", seed, path, sel.From, sel.To, len(sel.Keys)), "the instants of readings are not those of the values")
				}
			}
			r.Close()
		}
	}
}
