package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/store/storetest/proof"
)

// incident copies a recording of trouble into a directory of its own.
func incident(t *testing.T, name, as string) (dir, path string, all []byte) {
	t.Helper()
	src, err := filepath.Glob("../../testdata/incidents/" + name + "/*.tacho")
	if err != nil || len(src) != 1 {
		t.Fatalf("%v, %v", src, err)
	}
	if all, err = os.ReadFile(src[0]); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	path = filepath.Join(dir, as)
	proof.PutFile(t, path, all)
	return dir, path, all
}

// A copy of archives of which one could not be opened at all says so by its status.
func TestCopiesWithoutAWholeSource(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir, _, all := incident(t, "crash-loop", "good.tacho")
	lost := filepath.Join(dir, "lost.tacho")
	proof.PutFile(t, lost, all[:1000])
	to := t.TempDir()
	for _, line := range [][]string{
		{"snapshot", "--archive", dir, "-o", filepath.Join(to, "snapshot.tacho")},
		{"snapshot", "--archive", dir, "--redact", "-o", filepath.Join(to, "redacted.tacho")},
		{"merge", dir, "-o", filepath.Join(to, "merged.tacho")},
		{"split", dir, "--by", "50s", "-o", filepath.Join(to, "pieces")},
		{"split", dir, "--by", "host", "-o", filepath.Join(to, "hosts")},
		{"reduce", dir, "--keep", "10s", "-o", filepath.Join(to, "reduced.tacho")},
		{"export", "kernel.all.load", "--archive", dir, "--format", "csv", "-o", filepath.Join(to, "out.csv")},
	} {
		stdout, stderr, status := replay(openReal, line...)
		if status != cli.No || !strings.Contains(stderr, lost) {
			t.Errorf("replay %s: exit %d\n%s%s", strings.Join(line, " "), status, stdout, stderr)
		}
		if _, err := os.Lstat(line[len(line)-1]); err != nil {
			t.Errorf("replay %s: %v", strings.Join(line, " "), err)
		}
	}
}

// An export of nothing leaves no file, and one that was there as it was.
func TestExportOfNothing(t *testing.T) {
	t.Parallel()
	_, path, _ := incident(t, "crash-loop", "a.tacho")
	for _, format := range formatNames() {
		dir := t.TempDir()
		dst := filepath.Join(dir, "out")
		if format == "perfetto" {
			continue // It has the events of the window, whatever else is asked for.
		}
		line := []string{"export", "disk.dev.read", "-i", "no such disk", "--archive", path, "--format", format, "-o", dst}
		if format == "parquet" {
			line = append(line, "--table", "values")
		}
		if stdout, stderr, status := replay(openReal, line...); status != cli.Failed || strings.Contains(stdout, dst) || !strings.Contains(stderr, "nothing") {
			t.Errorf("%s: exit %d, %s%s", format, status, stdout, stderr)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s leaves %v", format, left)
		}
		if format == "parquet" || format == "pcp" {
			continue
		}
		proof.PutFile(t, dst, []byte("what was there"))
		_, _, _ = replay(openReal, append(line, "--force")...)
		if got, _ := os.ReadFile(dst); string(got) != "what was there" {
			t.Errorf("%s --force leaves %q", format, got)
		}
	}
}

// No command writes over what it reads, whatever that is called: by its name, by a link, by
// another name of the file, or by the name that a new archive has while it is made.
func TestSourcesStay(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir, path, all := incident(t, "crash-loop", "a.tacho")
	other := t.TempDir()
	link, hard, scratch := filepath.Join(other, "link"), filepath.Join(dir, "hard.svg"), filepath.Join(dir, "b.tacho.tmp")
	proof.PutFile(t, scratch, all)
	for _, err := range []error{os.Symlink(path, link), os.Link(path, hard), os.Symlink(path, filepath.Join(other, "base.0"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	made := filepath.Join(dir, "table")
	if _, stderr, status := replay(openReal, "export", "kernel.all.load", "--archive", path, "--format", "parquet", "-o", made); status != cli.Yes {
		t.Fatal(stderr)
	}
	within := filepath.Join(made, "within.tacho")
	proof.PutFile(t, within, all)
	definitions := filepath.Join(dir, "mine.conf")
	proof.PutFile(t, definitions, []byte("mine = kernel.all.load * 2\n"))

	for _, line := range [][]string{
		{"export", "kernel.all.load", "--force", "--format", "csv", "--archive", path, "-o", path},
		{"export", "kernel.all.load", "--force", "--format", "csv", "--archive", dir, "-o", path},
		{"export", "kernel.all.load", "--force", "--format", "jsonl", "--archive", path, "-o", link},
		{"export", "kernel.all.load", "--force", "--format", "perfetto", "--archive", path, "-o", hard},
		{"export", "kernel.all.load", "--force", "--format", "csv", "--archive", path, "--derived", definitions, "-o", definitions},
		{"export", "kernel.all.load", "--force", "--format", "pcp", "--archive", path, "-o", filepath.Join(other, "base")},
		{"export", "kernel.all.load", "--force", "--format", "parquet", "--archive", within, "-o", made},
		{"report", "--force", "--archive", path, "-o", path},
		{"report", "--force", "--archive", path, "-o", hard},
		{"plot", "kernel.all.load", "--archive", path, "-o", hard},
		{"snapshot", "--archive", scratch, "-o", filepath.Join(dir, "b.tacho")},
		{"merge", scratch, "-o", filepath.Join(dir, "b.tacho")},
		{"reduce", scratch, "--keep", "10s", "-o", filepath.Join(dir, "b.tacho")},
		{"repair", scratch, "-o", filepath.Join(dir, "b.tacho")},
	} {
		stdout, stderr, status := replay(openReal, line...)
		if status != cli.Failed || !strings.Contains(stderr, "is read") {
			t.Errorf("replay %s: exit %d\n%s%s", strings.Join(line, " "), status, stdout, stderr)
		}
		for _, file := range []string{path, link, hard, scratch, within, filepath.Join(other, "base.0")} {
			if got, err := os.ReadFile(file); !bytes.Equal(got, all) {
				t.Fatalf("replay %s: %s is not what it was: %v", strings.Join(line, " "), file, err)
			}
		}
		if _, err := os.Lstat(definitions); err != nil {
			t.Fatal(err)
		}
	}
}
