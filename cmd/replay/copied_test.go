package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// TestCopiesOfLiveArchives copies some of the files of an archive that was being written, and
// wants every reader to say that it is not all there.
func TestCopiesOfLiveArchives(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	killed, _ := recorded.RecordDir(t, 7, 700)
	live, err := filepath.Glob(filepath.Join(killed, "*"+layout.LiveSuffix))
	if err != nil || len(live) != 1 {
		t.Fatalf("%v, %v", live, err)
	}
	journals, err := layout.JournalsOf(live[0])
	if err != nil || len(journals) < 2 {
		t.Fatalf("journals %v, %v", journals, err)
	}
	for _, c := range []struct {
		name  string
		files []string
		says  string
		lost  bool
	}{
		{"alone", live, "its journal is not beside it", true},
		{"with the first of its journal", append(slices.Clone(live), journals[0]), "not complete: what was recorded later is not in it, nor what later files of its journal held than " + filepath.Base(journals[0]), false},
		{"with the last of its journal", append(slices.Clone(live), journals[len(journals)-1]), "its journal is not whole", true},
		{"with all there is now", append(slices.Clone(live), journals...), "not complete", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				proof.PutFile(t, filepath.Join(dir, filepath.Base(f)), b)
			}
			snapshot := filepath.Join(t.TempDir(), "s.tacho")
			for _, args := range [][]string{
				{dir}, {"info", dir}, {"info", dir, "--format", "json"}, {"verify", dir},
				{"values", "test.disk.count", "--archive", dir}, {"values", "test.disk.count", "--archive", dir, "--format", "json"},
				{"snapshot", "--archive", dir, "-o", snapshot},
			} {
				out, errs, status := replay(openReal, args...)
				if !strings.Contains(out+errs, c.says) {
					t.Errorf("replay %s: exit %d\n%s%s", strings.Join(args, " "), status, out, errs)
				}
				if args[0] == "verify" && (status == 1) != c.lost {
					t.Errorf("verify ends with %d", status)
				}
			}
		})
	}
	// Where a recorder was killed, and not copied, there is nothing to be said.
	if _, errs, _ := replay(openReal, "info", killed); strings.Contains(errs, "copy") {
		t.Errorf("of the original: %s", errs)
	}
}

// info names the archives of which nothing is told, because others tell all of it.
func TestInfoNamesCopies(t *testing.T) {
	t.Parallel()
	dir, path, _ := incident(t, "crash-loop", "a.tacho")
	part := filepath.Join(dir, "part.tacho")
	if _, stderr, status := replay(openReal, "snapshot", "--archive", path, "--from", "start+1m", "--to", "+1m", "-o", part); status != 0 {
		t.Fatal(stderr)
	}
	stdout, stderr, status := replay(openReal, "info", dir)
	if status != 0 || !strings.Contains(stderr, part+" is left out: ") || strings.Count(stdout, "archive  ") != 1 {
		t.Errorf("exit %d: %s%s", status, stdout, stderr)
	}
}
