package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// TestHistoriesSayWhatTheValuesDo compares the history of a page, from an archive
// that seeks processes and knows when they were read, with all fields of an
// archive that decodes everything: of finished and live archives, in windows that
// cut chunks.
func TestHistoriesSayWhatTheValuesDo(t *testing.T) {
	for _, finish := range []bool{true, false} {
		t.Run(fmt.Sprintf("finished %v", finish), func(t *testing.T) {
			dir := t.TempDir()
			c := storetest.NewCrowd(9, true, false)
			from := c.At.Wall
			recordCrowd(t, dir, "h", "b", c, proof.Pick(t, 400, 400), finish)
			recordCrowd(t, dir, "h", "b", c, proof.Pick(t, 60, 60), finish)
			r, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			slow := struct{ query.Archive }{r}
			var pids []string
			rnd := rand.New(rand.NewPCG(3, 4))
			for l := range r.Lives("process", 0, 0) {
				if pid := query.ProcessID(l.Instance); len(pids) < 3 || rnd.IntN(300) == 0 {
					pids = append(pids, fmt.Sprint(pid))
				}
			}
			length := c.At.Wall - from
			for n, pid := range pids[:min(len(pids), 8)] {
				w := query.Window{}
				if n%2 == 1 {
					w.From = from + rnd.Int64N(length/2)
					w.To = w.From + length/3
				}
				m, err := query.NewMatcher([]string{pid})
				if err != nil {
					t.Fatal(err)
				}
				got, _, err := query.Histories(r, w, m, int64(time.Minute), time.UTC, 0, false)
				want, _, wantErr := query.Histories(slow, w, m, int64(time.Minute), time.UTC, 0, true)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatal(err, wantErr)
				}
				if a, b := historiesText(got), historiesText(want); a != b {
					t.Fatalf("process %s, %d to %d:\n%s\nthe values say\n%s", pid, w.From, w.To, a, b)
				}
			}
		})
	}
}

// historiesText is what a page tells of histories.
func historiesText(list []*query.History) string {
	var out strings.Builder
	for _, h := range list {
		fmt.Fprintln(&out, h.Instance.Key, h.Name, h.User, h.PPID, h.Start, h.From, h.To, h.Names, h.Ended, h.Ancestors, h.Gains, h.Peak)
		for i := range h.Rows {
			r := &h.Rows[i]
			fmt.Fprintln(&out, r.At, r.CPU(), r.Memory(), r.Rates[query.ReadBytes], r.Rates[query.WrittenBytes], r.Levels[query.Threads])
		}
	}
	return out.String()
}
