package store_test

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/storetest/recorded"
)

// reading is where a value of a series was read.
type reading struct {
	archive string
	class   metric.Class
	wall    int64
	cont    int64
}

// readingsOf are those of all series, by metric and instance.
func readingsOf(a store.Archive, sel store.Selection) map[string][]reading {
	all := make(map[string][]reading)
	for run := range a.Select(sel) {
		name := seriesName(run.Metric, run.Instance)
		for i, wall := range run.Wall {
			all[name] = append(all[name], reading{run.Archive.ID, run.Metric.Class, wall, run.Cont[i]})
		}
	}
	return all
}

// An archive up to a mark answers every question as if nothing had been recorded behind
// it, and so does its twin.
func TestUpToAMark(t *testing.T) {
	dir, _ := recorded.RecordDir(t, 7, 300)
	r := open(t, dir)
	all := readingsOf(r, store.Selection{})
	for n, info := range r.Archives() {
		for _, part := range []int{1, 3, 6, 7} {
			mark := &store.Mark{Archive: info.ID, Churn: uint64(part), Events: uint64(part) / 2}
			conts := make(map[metric.Class][]int64)
			for _, list := range all {
				for _, x := range list {
					if x.archive == info.ID {
						conts[x.class] = append(conts[x.class], x.cont)
					}
				}
			}
			for class, list := range conts {
				slices.Sort(list)
				mark.Read[class] = list[len(list)*part/8]
			}
			t.Run(fmt.Sprint(n, " ", part), func(t *testing.T) {
				testUpTo(t, r, r.View(store.Limits{UpTo: mark}), mark, all)
				testUpTo(t, r, r.View(store.Limits{UpTo: mark}).View(store.Limits{}), mark, all)
				twin, end := r.View(store.Limits{UpTo: mark}).Twin()
				testUpTo(t, r, twin, mark, all)
				end()
			})
		}
	}
	if lost := r.Losses(); len(lost) > 0 {
		t.Errorf("it lost %v", lost)
	}
}

func testUpTo(t *testing.T, r *store.Reader, v store.Archive, mark *store.Mark, all map[string][]reading) {
	t.Helper()
	behind := make(map[string]bool) // archives
	for i, info := range r.Archives() {
		behind[info.ID] = i > 0 && (behind[r.Archives()[i-1].ID] || r.Archives()[i-1].ID == mark.Archive)
	}
	want, last, count := make(map[string][]reading), int64(0), uint64(0)
	for name, list := range all {
		for _, x := range list {
			if behind[x.archive] || x.archive == mark.Archive && x.cont > mark.Read[x.class] {
				continue
			}
			want[name] = append(want[name], x)
			last = max(last, x.wall)
		}
	}
	got := readingsOf(v, store.Selection{})
	if len(got) != len(want) {
		t.Errorf("%d series, not %d", len(got), len(want))
	}
	for name, list := range want {
		if !slices.Equal(got[name], list) {
			t.Errorf("%s has %d readings, not %d", name, len(got[name]), len(list))
		}
	}
	for _, sum := range []map[string]uint64{summed(v, false), summed(v, true)} {
		for name, n := range sum {
			if n != uint64(len(want[name])) {
				t.Errorf("%s is summed up of %d readings, not of %d", name, n, len(want[name]))
			}
			count += n
		}
	}
	if count == 0 {
		t.Error("nothing is summed up")
	}
	if got := v.LastRead(store.Selection{}); got != last {
		t.Errorf("the last reading is at %d, not %d", got, last)
	}
	for in, walls := range v.Readings(store.Selection{}) {
		if slices.Max(walls) > last {
			t.Errorf("%s was read behind the mark", in.Key)
		}
	}
	for life := range v.Lives("process", 0, 0) {
		if life.To > last {
			t.Errorf("%s lived behind the mark", life.Instance.Key)
		}
	}
	// What was before a window behind the mark is what was last before the mark.
	for name, list := range readingsOf(v, store.Selection{From: last + 1, Prior: true}) {
		for _, x := range list {
			if !slices.Contains(want[name], x) {
				t.Errorf("%s stood so behind the mark", name)
			}
		}
	}
	left := map[bool]uint64{true: mark.Churn, false: mark.Events}
	for e := range v.Events(0, 0) {
		if behind[e.Archive.ID] {
			t.Errorf("%v is of an archive behind the mark", e.Kind)
		} else if e.Archive.ID == mark.Archive {
			left[layout.IsChurn(e.Kind)]--
		}
	}
	if left[true] > mark.Churn || left[false] > mark.Events {
		t.Errorf("there are events behind the mark")
	}
}

// summed are of how many readings the summaries of each numeric series are.
func summed(v store.Archive, byChunk bool) map[string]uint64 {
	n := make(map[string]uint64)
	add := func(s *store.Summary) { n[seriesName(s.Metric, s.Instance)] += s.Count + s.Missing }
	if !byChunk {
		for s := range v.Summarize(store.Selection{Spread: true}) {
			add(s)
		}
		return n
	}
	for part := range v.Total(store.Selection{}, func(*store.Totals) bool { return true }) {
		for i := range part.Summaries {
			add(&part.Summaries[i])
		}
	}
	return n
}

// A view near an instant looks for what stood before a window in two and a half intervals,
// and for what is read rarely in the whole archive.
func TestNear(t *testing.T) {
	dir, _ := recorded.RecordDir(t, 7, 300)
	r := open(t, dir)
	for _, info := range r.Archives() {
		v := r.View(store.Limits{Archives: []*store.ArchiveInfo{info}, Near: true})
		if list := v.Archives(); len(list) != 1 || list[0] != info {
			t.Fatalf("it shows %d archives", len(list))
		}
		from := info.From + (info.To-info.From)/2
		alone := r.View(store.Limits{Archives: []*store.ArchiveInfo{info}})
		near := readingsOf(v, store.Selection{From: from, Prior: true})
		for name, list := range readingsOf(alone, store.Selection{From: from, Prior: true}) {
			wanted := slices.DeleteFunc(slices.Clone(list), func(x reading) bool {
				return x.class != metric.Static && x.class != metric.Constrained && x.wall < from-5*int64(info.Intervals[x.class])/2
			})
			if !slices.Equal(near[name], wanted) {
				t.Errorf("%s: %v, not %v", name, near[name], wanted)
			}
		}
	}
}
