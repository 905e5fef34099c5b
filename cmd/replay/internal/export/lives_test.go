package export

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest/recorded"
)

// TestCohorts wants every life of processes in one cohort, as it is told where all are asked
// for at once.
func TestCohorts(t *testing.T) {
	defer func(was int) { cohortSize = was }(cohortSize)
	cohortSize = 8
	dir, _ := recorded.RecordDir(t, 7, 600)
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := func(l *store.Life) string {
		return fmt.Sprint(l.Archive.BootID, l.Instance.Key, l.Instance.Name, l.From, l.To, l.Names)
	}
	info := r.Archives()[0]
	for _, w := range []query.Window{{}, {From: info.From + (info.To-info.From)/3, To: info.To - (info.To-info.From)/3}} {
		var want, got []string
		for l := range r.Lives("process", w.From, w.To) {
			want = append(want, text(l))
		}
		cohorts := 0
		for cohort := range (&Request{Archive: r}).Cohorts(w, "process") {
			cohorts++
			for l := range cohort {
				got = append(got, text(l))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(want) == 0 || w.From == 0 && cohorts < 2 || !slices.Equal(got, want) {
			t.Errorf("%d cohorts with %d lives, all at once %d", cohorts, len(got), len(want))
		}
	}
}
