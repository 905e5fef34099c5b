package recent_test

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/recent"
	"tachograph/store/storetest/proof"
)

// TestTickByTick asks about each tick as it comes, and demands that all answers
// together are that of the archive about the whole time.
func TestTickByTick(t *testing.T) {
	names := []string{"k.wide", "k.time", "k.narrow", "k.level", "k.state", "d.ops", "d.queue", "d.size", "d.errors", "proc.psinfo.utime", "proc.psinfo.sname"}
	for seed := range uint64(proof.Pick(t, 6, 200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := recent.New(recent.Keep{NoEvents: true})
			l := newLife(t, seed, a)
			for _, mode := range []query.Mode{query.Raw, query.Shown} {
				var got []string
				past := new(query.Past)
				tell := func(a query.Archive, past *query.Past, w query.Window, into *[]string) {
					for _, name := range names {
						r := query.Request{Window: w, Mode: mode, Metrics: []string{name}, Past: past}
						for s, err := range query.Read(a, r) {
							if err != nil {
								t.Fatal(err)
							}
							for i := range s.Wall {
								*into = append(*into, fmt.Sprintf("%s %s %s %d %s %s %v", s.Archive.BootID, name, keyOf(s.Instance), s.Wall[i], s.Value(i), s.Value(i).Miss, s.Rate))
							}
						}
					}
				}
				l.ticked = nil
				r := l.reader()
				tell(r, past, query.Window{}, &got) // what there is so far
				r.Close()
				l.ticked = func(class metric.Class) { tell(a.Newest(class), past, query.Window{}, &got) }
				for n := range 100 {
					l.step(n)
				}
				var want []string
				r = l.reader()
				tell(r, nil, query.Window{}, &want)
				r.Close()
				slices.Sort(got)
				slices.Sort(want)
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || got[i] != want[i] {
						t.Fatalf("mode %d: %d answers, want %d; the first that differs is\n%s, want\n%s", mode, len(got), len(want), at(got, i), at(want, i))
					}
				}
			}
		})
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

func keyOf(in *metric.Instance) string {
	if in == nil {
		return "-"
	}
	return in.Key
}
