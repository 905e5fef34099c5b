package query_test

import (
	"math"
	"slices"
	"testing"

	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// What an owner used is what its processes used, whichever way they are asked for, and all owners and the
// processes without one used what all processes did: of digests, crowds and values.
func TestOwnersAreTheSumsOfTheirProcesses(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	c := storetest.NewCrowd(12, true, false)
	from := c.At.Wall
	recordCrowd(t, dir, "h", "b", c, 350, true) // enough for a digest
	recordCrowd(t, dir, "h", "b", c, 20, false)
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	part := query.Window{From: from + (c.At.Wall-from)/3, To: from + (c.At.Wall-from)/2}
	for _, q := range []struct {
		a     query.Archive
		w     query.Window
		by    query.By
		group query.Grouping
	}{
		{r, query.Window{}, query.ByCPU, query.PerOwner},
		{r, query.Window{}, query.ByRuns, query.PerApp},
		{r, part, query.ByCPU, query.PerService},
		{undigested{r}, query.Window{}, query.ByCPU, query.PerContainer},
		{undigested{r}, part, query.ByRuns, query.PerOwner},
	} {
		all, err := query.Top(q.a, q.w, q.by, query.PerName, 0)
		if err != nil {
			t.Fatal(err)
		}
		sumsOfOwners(t, q.a, q.w, q.by, q.group, all)
	}
}

// sumsOfOwners compares the owners of a kind with their processes.
func sumsOfOwners(t *testing.T, a query.Archive, w query.Window, by query.By, group query.Grouping, all *query.Ranking) {
	t.Helper()
	owners, err := query.Top(a, w, by, group, 0)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(r *query.Ranking) (x float64) {
		for _, c := range r.Consumers {
			x += c.Amount(by)
		}
		return x
	}
	same := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(y) }
	if owners.N != all.N || !same(sum(owners), sum(all)) || !same(owners.Total, all.Total) {
		t.Errorf("by %s: each %s: %d processes used %v, all: %d used %v", by, group, owners.N, sum(owners), all.N, sum(all))
	}
	for i, c := range owners.Consumers {
		if i > 3 && !proof.Long() {
			break
		}
		if c.Owned == "" {
			continue // those that have none
		}
		m, err := query.NewMatcher([]string{string(group) + "=\"" + c.Name + "\""})
		if err != nil {
			t.Fatal(err)
		}
		for _, per := range []query.Grouping{query.PerProcess, query.PerName} {
			list, err := query.TopOf(a, w, m, by, per, 0)
			if err != nil {
				t.Fatal(err)
			}
			// An owner of a kind that people mean may share its name with one of another kind.
			if twin := slices.ContainsFunc(owners.Consumers, func(o *query.Consumer) bool { return o != c && o.Name == c.Name }); twin {
				continue
			}
			if list.N != c.Count || !same(sum(list), c.Amount(by)) || !same(list.Total, c.Amount(by)) {
				t.Errorf("by %s: %s %s: %d processes used %v, asked for as each %s: %d used %v", by, group, c.Name, c.Count, c.Amount(by), per, list.N, sum(list))
			}
		}
	}
}
