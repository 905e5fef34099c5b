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
		out = append(out, sums(r, sel)...)
	}
	return out
}

// sums are the summaries of a selection, and the values of those that do not have them.
func sums(r *store.Reader, sel store.Selection) (out []string) {
	sel.Spread = true
	var places []store.Place
	for s := range r.Summarize(sel) {
		out = append(out, fmt.Sprint(s.Metric.Name, s.Instance, s.Count, s.Missing, s.First, s.Last, s.Sum, s.Increase, s.Spread.Values, s.Spread.Sketch))
		if s.Count > 0 && s.Spread.Values == nil {
			places = append(places, s.Spread.Place)
		}
	}
	r.Values(places, func(n int, values []store.Repeated) { out = append(out, fmt.Sprint(n, values)) })
	return append(out, fmt.Sprint(r.Losses()))
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

// Stored summaries are decoded ahead, also by a reader that completes descriptions and has not
// met those of the other metrics yet.
func TestStoredSummariesAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "live"))
	g := &metric.Group{Name: "g"}
	for i := range 40 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprintf("m.%02d", i), Type: metric.U64, Sem: metric.Instant, Class: metric.Fast})
	}
	const chunks, n = 12, 100
	for i := range uint64(chunks * n) {
		at := metric.Stamp{Wall: int64(1e18 + 60e9*i), Cont: int64(60e9 * (i + 1))} // chunks are joined up to an hour
		block := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}}
		for k := range g.Metrics {
			block.Cols = append(block.Cols, metric.Column{Bits: []uint64{i * uint64(k) % 97}})
		}
		b.Append(&metric.Tick{At: at, Class: metric.Fast, Blocks: []*metric.Block{block}})
		if i%n == n-1 {
			b.Seal(nil)
		}
	}
	path := b.Finish(filepath.Join(t.TempDir(), "x.tacho"))
	for _, d := range g.Metrics {
		r, err := store.OpenWith(func(_ *metric.Host, d *metric.Desc) { d.Help += "." }, path)
		if err != nil {
			t.Fatal(err)
		}
		count := uint64(0)
		for s := range r.Summarize(store.Selection{Metrics: []string{d.Name}, Spread: true}) {
			count += s.Count
		}
		if count != chunks*n {
			t.Errorf("%d values of %s", count, d.Name)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
