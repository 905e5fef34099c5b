package recorded

import (
	"log/slog"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// ProofOptions are the options of a writer of the machine with this seed. Seals
// are frequent, so that everything is broken in every state.
func ProofOptions(dir string, seed uint64, now func() metric.Stamp) recording.Options {
	m := storetest.NewMachine(seed)
	return recording.Options{
		Dir:       dir,
		Host:      metric.Host{ID: "0000-test", Name: "testhost", OS: "Linux", Release: "6.0", Arch: "amd64", Platform: "linux"},
		BootID:    "boot-1",
		TimeZone:  "UTC",
		Recorder:  "test",
		Config:    "# none\n",
		Catalogue: m.Catalogue(),
		Intervals: m.Intervals(),
		Seal:      20 * time.Second / recording.CommitSeals,
		Sync:      time.Second,
		Now:       now,
		Log:       slog.New(slog.DiscardHandler),
	}
}

// RecordDir makes a directory with a finished archive and a live one, as a
// killed recorder leaves it.
func RecordDir(t *testing.T, seed uint64, n int) (string, []proof.Item) {
	t.Helper()
	dir := t.TempDir()
	list := proof.Items(seed, n)
	clock := proof.NewClock(list[0].At())
	w, err := recording.Create(ProofOptions(dir, seed, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	sealed := int64(0)
	for i, it := range list {
		clock.Set(it.At())
		if err := it.Append(w); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if i == n/2 {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
			sealed = w.Status().Commits
		}
		if i == n*3/4 {
			// The archive is to have some chunks, not only a journal.
			proof.WaitFor(t, func() bool { return w.Status().Commits > sealed })
		}
	}
	// A copy of what lies there now is what a kill would leave.
	left := proof.Killed(t, dir)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return left, list
}
