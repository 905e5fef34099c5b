package recorded

import (
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// ProofOptions are the options of a writer for the machine with this seed. Seals are frequent,
// so that everything is broken in every state.
func ProofOptions(dir string, seed uint64, now func() metric.Stamp) recording.Options {
	m := storetest.NewMachine(seed)
	return recording.Options{
		Dir:       dir,
		Host:      metric.Host{ID: "0000-test", Name: "testhost", OS: "Linux", Release: "6.0", Arch: "amd64", Platform: "linux"},
		BootID:    "boot-1",
		TimeZone:  "UTC",
		Recorder:  "test",
		Config:    "# none\n",
		Catalog:   m.Catalog(),
		Intervals: m.Intervals(),
		Seal:      20 * time.Second / recording.CommitEvery,
		Sync:      time.Second,
		Now:       now,
		Log:       slog.New(slog.DiscardHandler),
	}
}

// RecordDir makes a directory with a finished archive and a live one, as a
// killed recorder leaves it.
func RecordDir(t *testing.T, seed uint64, n int) (string, []proof.Item) {
	t.Helper()
	dir, list := t.TempDir(), proof.Items(seed, n)
	synctest.Test(t, func(t *testing.T) {
		record(t, dir, seed, list)
	})
	return dir, list
}

func record(t *testing.T, left string, seed uint64, list []proof.Item) {
	dir, clock := t.TempDir(), proof.From(list[0].At())
	w, err := recording.Create(ProofOptions(dir, seed, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	commits := int64(0)
	for i, it := range list {
		clock.Until(it.At())
		if err := it.Append(w); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if i == len(list)/2 {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
			commits = w.Status().Commits
		}
	}
	if w.Status().Commits == commits {
		t.Fatal("the archive has no chunks, only a journal")
	}
	// The files at rest are what a kill would leave.
	synctest.Wait()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	proof.Sound(t, left)
}
