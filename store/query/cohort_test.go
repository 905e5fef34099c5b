package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// What is answered cohort by cohort is what is answered at once, over archives of
// one boot and of another, finished and live, with names that change.
func TestCohorts(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	c := storetest.NewCrowd(8, true, true)
	from := c.At.Wall
	recordCrowd(t, dir, "h", "b", c, proof.Pick(t, 200, 200), true)
	recordCrowd(t, dir, "h", "b", c, proof.Pick(t, 100, 100), true)
	recordCrowd(t, dir, "h", "b2", c, proof.Pick(t, 60, 60), true)
	recordCrowd(t, dir, "h", "b2", c, proof.Pick(t, 60, 60), false)
	rnd := rand.New(rand.NewPCG(3, 4))
	length := c.At.Wall - from
	for n := range proof.Pick(t, 2, 8) {
		w := query.Window{}
		if n > 0 {
			w.From = from + rnd.Int64N(length)
			w.To = w.From + rnd.Int64N(length)
		}
		for name, ask := range cohortQuestions {
			r, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			want := ask(t, r, w)
			for _, size := range []int{1, 60} {
				restore := query.PartAt(size)
				got := ask(t, r, w)
				restore()
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d to %d, by %d: %d lines, %d at once", name, w.From, w.To, size, len(got), len(want))
					for i := range min(len(got), len(want)) {
						if got[i] != want[i] {
							t.Fatalf("%s\nat once\n%s", got[i], want[i])
						}
					}
				}
			}
			r.Close()
		}
	}
}

// cohortQuestions are what can be asked of processes, and what is answered, line by
// line. Archives of a series come in the order of cohorts.
var cohortQuestions = map[string]func(*testing.T, *store.Reader, query.Window) []string{
	"values":           seriesLines(query.Request{}),
	"rates":            seriesLines(query.Request{Mode: query.Shown}),
	"steps":            seriesLines(query.Request{Mode: query.Shown, Step: 600e9}),
	"levels in steps":  seriesLines(query.Request{Step: 3600e9, Metrics: []string{"proc.memory.rss"}}),
	"levels":           seriesLines(query.Request{Mode: query.Shown, Metrics: []string{"proc.memory.rss"}}),
	"ranges":           rangeLines(query.RangeRequest{Percentiles: true}),
	"ranges of rates":  rangeLines(query.RangeRequest{Request: query.Request{Mode: query.Shown}, Percentiles: true}),
	"ranges, quick":    rangeLines(query.RangeRequest{}),
	"ranges of levels": rangeLines(query.RangeRequest{Request: query.Request{Metrics: []string{"proc.memory.rss"}}, Percentiles: true}),
}

func seriesLines(ask query.Request) func(*testing.T, *store.Reader, query.Window) []string {
	return func(t *testing.T, r *store.Reader, w query.Window) []string {
		ask.Window = w
		if ask.Metrics == nil {
			ask.Metrics = []string{"proc.psinfo.utime"}
		}
		var lines []string
		names, all := query.NewNames(r, ask), query.NewNames(r, ask)
		for s, err := range query.Read(r, ask) {
			if err != nil {
				t.Fatal(err)
			}
			got := namedLines(names, s)
			// An instance that does not say how many names it has had is asked for all.
			untold := *s
			in := *s.Instance
			in.Rev, untold.Instance = 0, &in
			if want := namedLines(all, &untold); !slices.Equal(got, want) {
				t.Fatalf("called otherwise:\n%s\nby all names:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			lines = append(lines, got...)
		}
		slices.Sort(lines)
		return lines
	}
}

func namedLines(names *query.Names, s *query.Series) (lines []string) {
	for part := range names.Split(s, "process") {
		for i, wall := range part.Wall {
			lines = append(lines, fmt.Sprint(part.Archive.BootID, " ", part.Instance.Key, " ", part.Instance.Name, " ", part.Instance.Labels, " ", wall, " ", part.Value(i)))
		}
	}
	return lines
}

func rangeLines(ask query.RangeRequest) func(*testing.T, *store.Reader, query.Window) []string {
	return func(t *testing.T, r *store.Reader, w query.Window) []string {
		ask.Window = w
		if ask.Metrics == nil {
			ask.Metrics = []string{"proc.psinfo.utime"}
		}
		var lines []string
		for s, err := range query.Ranges(r, ask) {
			if err != nil {
				t.Fatal(err)
			}
			c := *s
			c.Archive, c.Metric = nil, nil
			in := metric.Instance{Key: s.Instance.Key, Name: s.Instance.Name, Labels: s.Instance.Labels}
			c.Instance = nil
			lines = append(lines, fmt.Sprintf("%v %+v", in, c))
		}
		return lines
	}
}
