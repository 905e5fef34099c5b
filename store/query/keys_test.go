package query_test

import (
	"testing"

	"tachograph/store"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// To look for each of very many instances in each of many chunks would take their
// product: whoever asks for all by their keys, as the ranking of all processes does,
// has the chunks tell theirs.
func TestManyKeys(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	c := storetest.NewCrowd(9, false, false)
	for range 8 {
		recordCrowd(t, dir, "h", "b", c, 50, true)
	}
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sel := store.Selection{Metrics: []string{"proc.psinfo.utime"}}
	runs := 0
	ask := func() {
		runs = 0
		for range r.Select(sel) {
			runs++
		}
	}
	ask()
	want := runs
	for l := range r.Lives("process", 0, 0) {
		sel.Keys = append(sel.Keys, l.Instance.Key)
	}
	// Each key that is looked for is taken apart.
	if allocs := int(testing.AllocsPerRun(1, ask)); allocs > 2*len(sel.Keys) {
		t.Errorf("%d allocations for %d keys in 8 archives", allocs, len(sel.Keys))
	}
	if runs != want {
		t.Errorf("%d runs of %d keys, %d of all", runs, len(sel.Keys), want)
	}
}
