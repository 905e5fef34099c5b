package main

import (
	"os"
	"strconv"
	"testing"

	"tachograph/testdata/built"
	"tachograph/testdata/measure/conclusions/cases"
)

// TestShort asks about a few cases of the table: that the bench works, and that
// what is plain is found.
func TestShort(t *testing.T) {
	seed := uint64(1)
	if text := os.Getenv("TACHO_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("seed %d", seed)
	b := &bench{seed: seed, cases: 1, set: "tuned", replay: built.Program(t, "replay"), workers: 2}
	all, none := &tally{}, &tally{}
	for _, j := range []job{{kind: "runaway", noise: "idle"}, {kind: "volume filled", noise: "cron"}, {kind: "sleep", noise: "idle"}, {kind: "hung disk", noise: "database"}, {kind: cases.None, noise: "idle"}} {
		r := b.one(j, t.TempDir())
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if len(r.Answers) < 5 {
			t.Errorf("%s: %d answers", r.Case.ID, len(r.Answers))
		}
		if j.kind == cases.None {
			none.add(r)
		} else {
			all.add(r)
		}
	}
	if 2*all.any < all.asked || all.asked < 20 {
		t.Errorf("the cause is told in %d of %d answers", all.any, all.asked)
	}
	if 2*none.quietFound > none.quiet || none.quiet < 5 {
		t.Errorf("%d of %d answers tell of trouble where there is none", none.quietFound, none.quiet)
	}
}
