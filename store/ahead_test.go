package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/query"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// answers are those of one reader to many questions, with what each lacks.
func answers(t *testing.T, path string) (out []string) {
	r, err := store.Open(path)
	if err != nil {
		return []string{err.Error()}
	}
	defer r.Close()
	from, to := int64(1)<<62, int64(0)
	for _, a := range r.Archives() {
		from, to = min(from, a.From), max(to, a.To)
	}
	accept, sought, err := query.InstanceFilter([]string{"*1*"})
	if err != nil {
		t.Fatal(err)
	}
	var names, keys []string
	domain := ""
	for _, d := range r.Metrics() {
		names = append(names, d.Name)
		if d.Indom != metric.NoIndom {
			domain = d.Indom
		}
	}
	for l := range r.Lives(domain, 0, 0) {
		if len(keys) < 3 {
			keys = append(keys, l.Instance.Key)
		}
	}
	third := (to - from) / 3
	list, few := r.Keys(domain, 0, 0, sought, func(in *metric.Instance) bool { return strings.Contains(in.Key, "1") })
	out = append(out, fmt.Sprint(list, few))
	for _, sel := range []store.Selection{
		{}, {Prior: true, From: from + third, To: to - third}, {Keys: keys}, {Keys: keys, From: from + third},
		{Instance: accept}, {Instance: accept, Sought: sought}, {Metrics: names[:1+len(names)/9]},
	} {
		for _, most := range []int{1 << 30, 1, 7} {
			n := 0
			for run := range r.Select(sel) {
				out = append(out, fmt.Sprintf("%s %v %d %x %v", run.Metric.Name, run.Instance, run.Wall, run.Bits, run.Miss))
				if n++; n == most {
					break
				}
				if n == 5 {
					// Another question in the midst.
					for inner := range r.Select(store.Selection{Metrics: names[:1]}) {
						out = append(out, fmt.Sprint(inner.Metric.Name, inner.Wall))
					}
				}
			}
			if most == 1<<30 {
				out = append(out, fmt.Sprint(len(r.Losses())))
			}
		}
	}
	return out
}

// Answers are the same with one processor and with several: of what was recorded,
// left by a recorder, of both versions, and damaged.
func TestAnswersOnSeveralProcessors(t *testing.T) {
	paths, err := filepath.Glob("testdata/v*" + layout.FinishedSuffix)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives: %v", err)
	}
	for seed := range uint64(1) {
		dir, _ := recorded.RecordDir(t, seed, proof.Pick(t, 400, 1000))
		paths = append(paths, dir)
	}
	for seed := range uint64(proof.Pick(t, 2, 4)) {
		dir, _ := recorded.RecordDir(t, 3, 200)
		if _, err := mangle.Directory(rand.New(rand.NewPCG(seed, 12)), dir); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, dir)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, path := range paths {
		runtime.GOMAXPROCS(1)
		want := answers(t, path)
		runtime.GOMAXPROCS(4)
		if got := answers(t, path); !reflect.DeepEqual(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%s: answer %d of %d is %.300s, want %.300s", path, i, len(want), got[i], want[i])
				}
			}
			t.Errorf("%s: %d answers, want %d", path, len(got), len(want))
		}
	}
}
