package recording

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/store/archive"
	"tachograph/store/layout"
	"tachograph/store/reduce"
)

// reduceTo makes a reduced archive from others.
func reduceTo(t *testing.T, to string, from ...string) {
	t.Helper()
	var files []*archive.File
	for _, path := range from {
		f, err := archive.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	if err := reduce.Archive(context.Background(), to, files, reduce.Options{Step: time.Minute}); err != nil {
		t.Fatal(err)
	}
}

func reducedName(path string) string {
	return strings.TrimSuffix(path, layout.FinishedSuffix) + "_1" + layout.FinishedSuffix
}

func TestPruneReducesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, archives, at := somedays(t)
		rule := Retention{Limits: Limits{KeepFor: 72 * time.Hour, Reduce: true, KeepReducedFor: 1000 * time.Hour}, Now: at}
		pass := func() Pruned {
			t.Helper()
			rule.Host, rule.BootID = testOptions("").Host, "boot-1"
			done, err := Prune(dir, rule)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		// No archive is removed before its reduced archive exists, and Prune asks for no
		// more reduced archives at a time than it would remove.
		for range 3 {
			if done := pass(); len(done.Removed) > 0 || !slices.Equal(done.Due, archives[:1]) {
				t.Fatalf("%+v", done)
			}
		}
		reduceTo(t, reducedName(archives[0]), archives[0])
		if done := pass(); len(done.Removed) != 1 || done.Removed[0].Path != archives[0] || done.Removed[0].Reduced != reducedName(archives[0]) {
			t.Fatalf("%+v", done)
		}
		if done := pass(); len(done.Removed) > 0 || !slices.Equal(done.Due, archives[1:2]) {
			t.Fatalf("%+v", done)
		}
		// If there is no room for the reduced archive, an archive stays although it is too
		// old.
		rule.Crowded = map[string]string{archives[1]: "the disk is full"}
		if done := pass(); len(done.Removed) > 0 {
			t.Fatalf("%+v", done)
		}
		// It is removed if that makes room. A damaged archive is removed as it always was.
		rule.KeepSize = 1
		if done := pass(); len(done.Removed) != 1 || done.Removed[0].Path != archives[1] || !strings.Contains(done.Removed[0].Why, "no room") {
			t.Fatalf("%+v", done)
		}
		rule.Irreducible = map[string]string{archives[2]: "it is damaged"}
		if done := pass(); len(done.Removed) != 1 || done.Removed[0].Path != archives[2] || !strings.Contains(done.Removed[0].Why, "cannot be reduced") {
			t.Fatalf("%+v", done)
		}
		// None of these passes removed the reduced archive. It has its own limit.
		rule.KeepSize, rule.KeepReducedFor = 0, 90*time.Hour
		if _, err := os.Stat(reducedName(archives[0])); err != nil {
			t.Fatal(err)
		}
		if done := pass(); len(done.Removed) != 1 || done.Removed[0].Path != reducedName(archives[0]) || !strings.Contains(done.Removed[0].Why, "keep_reduced_for") {
			t.Fatalf("%+v", done)
		}
	})
}

func TestReducedArchivesMakeRoomLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, archives, at := somedays(t)
		reduceTo(t, reducedName(archives[0]), archives[0])
		if err := os.Remove(archives[0]); err != nil {
			t.Fatal(err)
		}
		rule := Retention{Limits: Limits{KeepSize: 1, Reduce: true, KeepReducedFor: 1000 * time.Hour}, Now: at, Host: testOptions("").Host, BootID: "boot-1"}
		for range 20 {
			done, err := Prune(dir, rule)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range done.Removed {
				if r.Path == reducedName(archives[0]) {
					if _, err := os.Stat(archives[3]); err == nil {
						t.Fatal("the reduced archive went before others")
					}
					return
				}
			}
			for _, path := range done.Due {
				reduceTo(t, reducedName(path), path)
			}
		}
		t.Error("the reduced archive never made room")
	})
}

func TestStartRemovesHalfReduced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		names := []string{"h-20261120T000000Z--20261121T000000Z_1.tacho.tmp", "h-20261120T000000Z--20261121T000000Z_1.tacho.tmp.tmp"}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w := create(t, testOptions(dir))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s is still there", name)
			}
		}
	})
}
