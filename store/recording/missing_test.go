package recording

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/layout"
	"tachograph/store/mend"
	"tachograph/store/storetest/proof"
)

// copied copies the files of a directory that want accepts.
func copied(t *testing.T, dir string, want func(name string) bool) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range names(t, dir) {
		if !want(name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		proof.PutFile(t, filepath.Join(to, name), data)
	}
	return to
}

// told returns what readers and Verify report as wrong in a directory.
func told(t *testing.T, dir string) (reader, verify string) {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	findings, err := mend.Verify(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		verify += f.String() + "\n"
	}
	for _, a := range r.Archives() {
		if a.From < 1_700_000_000e9 || a.To < a.From {
			t.Errorf("%s is said to cover %s", a.Path, fault.Stretch(a.From, a.To))
		}
	}
	return strings.Join(proof.DamageOf(r), "\n"), verify
}

// recordedLive records into an archive that has only one commit, and then three generations
// of its journal. It returns the directory as it was during the recording, and as it was
// afterwards.
func recordedLive(t *testing.T) (live, stopped string) {
	live, stopped = t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		opt := testOptions(stopped)
		opt.Seal = 10 * time.Second
		w := create(t, opt)
		recordTicks(t, w, 0, 220) // a commit after 120
		if err := os.CopyFS(live, os.DirFS(stopped)); err != nil {
			t.Fatal(err)
		}
	})
	return live, stopped
}

// A live archive names its journal files, so that an incomplete copy is not mistaken for a
// whole one.
func TestCopiesOfALiveArchive(t *testing.T) {
	dir, stopped := recordedLive(t)
	journals := slices.DeleteFunc(names(t, dir), func(name string) bool { return !layout.IsJournalName(name) })
	if len(journals) < 3 {
		t.Fatalf("journals: %v", journals)
	}
	fresh := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		recordTicks(t, create(t, testOptions(dir)), 0, 20)
		if err := os.CopyFS(fresh, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range []struct {
		name, dir string
		want      func(name string) bool
		says      string
	}{
		{"all", dir, func(string) bool { return true }, ""},
		{"the archive alone", dir, layout.IsLiveName, "its journal is not beside it"},
		{"an archive that holds nothing yet", fresh, layout.IsLiveName, "its journal is not beside it"},
		{"without the first journal", dir, func(n string) bool { return n != journals[0] }, "are missing"},
		{"without one between", dir, func(n string) bool { return n != journals[1] }, "are missing, 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader, verify := told(t, copied(t, c.dir, c.want))
			if c.says == "" && reader+verify != "" || !strings.Contains(reader, c.says) || !strings.Contains(verify, c.says) {
				t.Errorf("the reader says %q, verify %q", reader, verify)
			}
		})
	}
	t.Run("a journal cut to nothing", func(t *testing.T) {
		to := copied(t, dir, func(string) bool { return true })
		proof.PutFile(t, filepath.Join(to, journals[len(journals)-1]), []byte{})
		reader, verify := told(t, to)
		if !strings.Contains(reader, "it is empty") || !strings.Contains(verify, "it is empty") {
			t.Errorf("the reader says %q, verify %q", reader, verify)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		reader, verify := told(t, stopped)
		if reader+verify != "" {
			t.Errorf("the reader says %q, verify %q", reader, verify)
		}
		// The archive holds everything: repairing it loses nothing.
		live := slices.DeleteFunc(names(t, stopped), func(name string) bool { return !layout.IsLiveName(name) })
		rep, err := mend.Repair(filepath.Join(stopped, live[0]), filepath.Join(t.TempDir(), "r.tacho"), nil)
		if err != nil || len(rep.Lost) > 0 || len(rep.Damage) > 0 {
			t.Errorf("repair: %+v, %v", rep, err)
		}
	})
}

// Whenever the recorder is stopped, it leaves one file with everything in it, also if new
// metrics were added since the last commit.
func TestStoppedArchivesStandAlone(t *testing.T) {
	for _, n := range []int{1, 12, 20, 35, 110, 125, 145} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				opt := testOptions(dir)
				opt.Seal = 10 * time.Second
				w := create(t, opt)
				recordTicks(t, w, 0, n)
				if n%2 == 0 {
					if err := w.Describe([]*metric.Desc{{Name: "mem.late", Type: metric.U64, Class: metric.Fast}}); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if left := slices.DeleteFunc(names(t, dir), func(name string) bool { return !layout.IsJournalName(name) }); len(left) > 0 {
					t.Errorf("journals are left: %v", left)
				}
				if reader, verify := told(t, copied(t, dir, layout.IsLiveName)); reader+verify != "" {
					t.Errorf("of a copy the reader says %q, verify %q", reader, verify)
				}
			})
		})
	}
}

// A journal of another archive is not used for this one.
func TestVerifyTellsAnotherArchivesJournal(t *testing.T) {
	dir, _ := recordedLive(t)
	other, _ := recordedLive(t)
	var journals []string
	for _, name := range names(t, dir) {
		if layout.IsJournalName(name) {
			journals = append(journals, name)
		}
	}
	last := journals[len(journals)-1]
	data, err := os.ReadFile(filepath.Join(other, last))
	if err != nil {
		t.Fatal(err)
	}
	to := copied(t, dir, func(string) bool { return true })
	proof.PutFile(t, filepath.Join(to, last), data)
	if _, verify := told(t, to); !strings.Contains(verify, "belongs to another archive") {
		t.Errorf("verify says %q", verify)
	}
}

// A finished archive ends with its last page.
func TestVerifyTellsBytesBehindAnArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := createUnchecked(t, testOptions(dir))
		recordTicks(t, w, 0, 50)
		path, err := w.Rotate("test")
		if err != nil {
			t.Fatal(err)
		}
		if found, err := mend.Verify(path, nil); err != nil || len(found) > 0 {
			t.Fatalf("verify of a sound one: %v, %v", found, err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("appended"); err != nil {
			t.Fatal(err)
		}
		if found, err := mend.Verify(path, nil); err != nil || len(found) != 1 || !strings.Contains(found[0].What, "8 bytes behind the end") {
			t.Fatalf("verify: %v, %v", found, err)
		}
	})
}

// If nobody knows up to when data is missing, the report gives no end.
func TestWhatIsMissingAtTheEnd(t *testing.T) {
	dir, _ := recordedLive(t)
	for _, c := range []struct {
		name string
		cut  func(written int64) int64
	}{
		{"in the middle of a record", func(written int64) int64 { return written - 3 }},
		{"to nothing", func(int64) int64 { return 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copied(t, dir, func(string) bool { return true })
			journals := slices.DeleteFunc(names(t, dir), func(name string) bool { return !layout.IsJournalName(name) })
			last := filepath.Join(dir, journals[len(journals)-1])
			b, err := os.ReadFile(last)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(last, c.cut(written(t, b))); err != nil {
				t.Fatal(err)
			}
			_, verify := told(t, dir)
			if !strings.Contains(verify, "(after 20") {
				t.Errorf("Verify: %s", verify)
			}
			live := slices.DeleteFunc(names(t, dir), func(name string) bool { return !layout.IsLiveName(name) })
			report, err := mend.Repair(filepath.Join(dir, live[0]), filepath.Join(t.TempDir(), "out.tacho"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Lost) != 1 || !strings.Contains(report.Lost[0].String(), "(after 20") {
				t.Errorf("Repair: %v", report.Lost)
			}
		})
	}
}
