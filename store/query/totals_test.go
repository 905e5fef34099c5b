package query_test

import (
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/mend"
	"tachograph/store/query"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// undigested is an archive without digests: every chunk is decoded.
type undigested struct{ query.Archive }

func (u undigested) Total(sel store.Selection, _ func(*store.Totals) bool) iter.Seq[store.Subtotal] {
	return u.Archive.Total(sel, nil)
}

// recordCrowd records so many ticks, in an archive and what is live after it.
func recordCrowd(t *testing.T, dir, host, boot string, c *storetest.Crowd, ticks int, finish bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := proof.From(c.At)
		w, err := recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: host, Name: host}, BootID: boot, TimeZone: "UTC",
			Catalog: c.Group.Metrics, Intervals: metric.Intervals{metric.Process: storetest.CrowdInterval}, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for range ticks {
			tick := c.Tick()
			clock.Until(tick.At)
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		if finish {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTotalsSayWhatTheValuesDo(t *testing.T) {
	proof.Unraced(t)
	for k, kind := range []struct {
		name                   string
		labels, partly, finish bool
	}{
		{"finished", true, false, true},
		{"live", true, false, false},
		{"without labels", false, false, true},
		{"read partly", true, true, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if !proof.Long() && !kind.labels {
				t.Skip("the other kinds tell most of it; this one is asked with TACHO_LONG")
			}
			ticks := 350 // enough for a short digest
			if kind.finish {
				ticks = 900 // for a long one
			}
			dir := t.TempDir()
			c := storetest.NewCrowd(5, kind.labels, kind.partly)
			from := c.At.Wall
			recordCrowd(t, dir, "h", "b", c, ticks, kind.finish)
			recordCrowd(t, dir, "h", "b", c, 100, kind.finish) // the same boot goes on
			if k == 0 && !testing.Short() || kind.finish && !kind.partly && proof.Long() {
				recordCrowd(t, dir, "other", "b2", storetest.NewCrowd(6, kind.labels, kind.partly), 500, true)
			}
			if found, err := mend.Verify(dir, nil); err != nil || len(found) > 0 {
				t.Fatal(found, err)
			}
			r, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rnd := rand.New(rand.NewPCG(1, 2))
			length := c.At.Wall - from
			for n := range proof.Pick(t, 2, 12) {
				w := query.Window{}
				if n > 0 {
					w.From = from + rnd.Int64N(length)
					w.To = w.From + rnd.Int64N(length)
				}
				compareTotals(t, r, w, n+k)
				if !kind.partly {
					compareSpans(t, r, w)
				}
			}
		})
	}
}

// compareTotals compares the rankings of a window: all of them in the long form, else
// each fifth, and others with another turn.
func compareTotals(t *testing.T, r *store.Reader, w query.Window, turn int) {
	t.Helper()
	slow := undigested{r}
	for _, by := range []query.By{query.ByCPU, query.ByMemory, query.ByRuns, query.ByRead, query.ByFaults}[:proof.Pick(t, 5, 5)] {
		for _, group := range query.Groupings {
			if turn++; turn%5 != 0 && !proof.Long() {
				continue
			}
			for _, n := range []int{3, 20}[:proof.Pick(t, 1, 2)] {
				got, err := query.Top(r, w, by, group, n)
				want, wantErr := query.Top(slow, w, by, group, n)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatal(err, wantErr)
				}
				if err != nil {
					continue
				}
				if a, b := rankingText(got), rankingText(want); a != b {
					t.Fatalf("by %s, %s, %d of %d to %d:\n%s\nthe values say\n%s", by, group, n, w.From, w.To, a, b)
				}
			}
		}
	}
	got, err := query.TopNames(r, w, 8, query.ByCPU, query.ByMemory)
	want, wantErr := query.TopNames(slow, w, 8, query.ByCPU, query.ByMemory)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatal(err, wantErr)
	}
	for i := range got {
		if a, b := rankingText(got[i]), rankingText(want[i]); a != b {
			t.Fatalf("names of %d to %d:\n%s\nthe values say\n%s", w.From, w.To, a, b)
		}
	}
}

// rankingText is what a ranking tells, in which sums of floats may differ by their
// order.
func rankingText(r *query.Ranking) string {
	x := func(f float64) string { return fmt.Sprintf("%.9g", f) }
	s := fmt.Sprintf("%d to %d, %d, %s\n", r.From, r.To, r.N, x(r.Total))
	for _, c := range r.Consumers {
		s += fmt.Sprintf("%s %s %s %d %d %d %d %s %d", c.Archive.Host.ID, c.Name, c.Instance.Key, c.Count, c.Runs, c.From, c.To, c.User, c.Start)
		for _, f := range append(c.Gains[:], c.Mean, c.Peak, c.Resident, c.Virtual) {
			s += " " + x(f)
		}
		s += "\n"
	}
	return s
}
