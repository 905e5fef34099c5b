package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/store/storetest/proof"
)

// openReal opens archives on disk, as the program does.
func openReal(paths ...string) (reader, error) { return openArchives(paths...) }

// TestSnapshotAnswers holds what a snapshot answers about its window against what the
// recording does that it was cut out of, command by command.
func TestSnapshotAnswers(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	incidents, err := filepath.Glob("../../testdata/incidents/*/*.tacho")
	if err != nil || len(incidents) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for i, src := range incidents {
		name := filepath.Base(filepath.Dir(src))
		if i%4 != 0 && !proof.Long() || i%6 != 0 && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dst := filepath.Join(t.TempDir(), "incident.tacho")
			r, err := openArchives(src)
			if err != nil {
				t.Fatal(err)
			}
			first := r.Archives()[0].From
			_ = r.Close()
			instant := func(after time.Duration) string {
				return time.Unix(0, first+int64(after)).UTC().Format(time.RFC3339Nano)
			}
			window := []string{"--from", instant(61 * time.Second), "--to", instant(151 * time.Second)}
			out, errs, status := replay(openReal, append([]string{"snapshot", "--archive", src, "-o", dst}, window...)...)
			if status != 0 || !strings.HasPrefix(out, dst+": ") {
				t.Fatalf("exit %d: %s%s", status, out, errs)
			}
			proof.Sound(t, dst)
			for _, question := range [][]string{
				{"top", "--number", "0"}, {"ps", "*e*"}, {"events"}, {"at", instant(100 * time.Second)}, {"ps", "--at", instant(62 * time.Second)}, {"values", "hinv"},
				{"rates", "kernel.all.cpu", "disk.dev", "network.interface", "proc.psinfo.utime"},
				{"values", "kernel", "mem", "disk", "network", "proc", "hinv", "filesys"}, {"ranges", "kernel.all.load", "proc.psinfo.utime"},
			} {
				args := append(slices.Clone(question), "--format", "csv")
				if question[0] != "at" && !slices.Contains(question, "--at") {
					args = append(args, window...)
				}
				want, wantErr, wantStatus := replay(openReal, append(args, "--archive", src)...)
				got, gotErr, gotStatus := replay(openReal, append(args, "--archive", dst)...)
				if question[0] == "at" { // it lists events of some minutes before, of which the snapshot has none
					got, want = withoutEvents(got), withoutEvents(want)
				}
				if question[0] == "ranges" { // their sums are added up by chunk, and end where chunks do
					got, want = nearly(got), nearly(want)
				}
				got, want = inOrder(got), inOrder(want)
				if got != want || gotStatus != wantStatus || gotErr != wantErr {
					t.Errorf("replay %s: exit %d, want %d\n%s\n%s%s", strings.Join(args, " "), gotStatus, wantStatus, firstDifference(want, got), gotErr, wantErr)
				}
				if wantStatus > 1 && question[0] != "ps" { // a machine may have no such process
					t.Errorf("replay %s: exit %d: %s", strings.Join(args, " "), wantStatus, wantErr)
				}
			}
		})
	}
}

// TestSplitAndMergeAnswer takes a recording apart and puts it together again: every value that
// replay prints of it is the same before and after.
func TestSplitAndMergeAnswer(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	src, _ := filepath.Glob("../../testdata/incidents/crash-loop/*.tacho")
	dir := t.TempDir()
	pieces, whole := filepath.Join(dir, "pieces"), filepath.Join(dir, "whole.tacho")
	out, errs, status := replay(openReal, "split", src[0], "--by", "50s", "-o", pieces)
	if status != 0 || strings.Count(out, "\n") < 5 {
		t.Fatalf("exit %d: %s%s", status, out, errs)
	}
	proof.Sound(t, pieces)
	if out, errs, status = replay(openReal, "merge", pieces, "-o", whole); status != 0 {
		t.Fatalf("exit %d: %s%s", status, out, errs)
	}
	proof.Sound(t, whole)
	all := []string{"values", "kernel", "mem", "disk", "network", "proc", "hinv", "filesys", "swap", "vfs"}
	for _, question := range [][]string{all, {"events"}, {"rates", "kernel.all.cpu", "disk.all", "proc.psinfo.utime"}} {
		args := append(slices.Clone(question), "--format", "csv")
		want, _, wantStatus := replay(openReal, append(args, "--archive", src[0])...)
		for _, of := range []string{pieces, whole} {
			got, errs, status := replay(openReal, append(args, "--archive", of)...)
			if got, want := inOrder(got), inOrder(want); got != want || status != wantStatus || strings.Count(got, "\n") < 2 {
				t.Errorf("replay %s of %s: exit %d, %s\n%s", strings.Join(args, " "), of, status, errs, firstDifference(want, got))
			}
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"split", src[0], "-o", dir}, "by what"},
		{[]string{"split", src[0], "--by", "colour", "-o", dir}, "neither of boot, host, day, hour"},
		{[]string{"split", src[0], "--by", "1s"}, "needs a directory"},
		{[]string{"merge", src[0]}, "needs a name"},
		{[]string{"merge", "-o", whole}, "needs the archives"},
		{[]string{"merge", src[0], "-o", whole}, "exists already"},
	} {
		if _, errs, status := replay(openReal, c.args...); status == 0 || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d: %s", c.args, status, errs)
		}
	}
}

func withoutEvents(csv string) string {
	lines := slices.DeleteFunc(strings.Split(csv, "\n"), func(l string) bool { return strings.HasPrefix(l, "event,") })
	return strings.Join(lines, "\n")
}

// inOrder has the lines sorted: in what order instances are listed is not told by a recording.
func inOrder(csv string) string {
	lines := strings.Split(csv, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// nearly is a table whose numbers have 13 digits.
func nearly(csv string) string {
	return longNumber.ReplaceAllStringFunc(csv, func(s string) string {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		return strconv.FormatFloat(x, 'g', 13, 64)
	})
}

var longNumber = regexp.MustCompile(`\b\d+\.\d{8,}\b`)

func TestSnapshotRefuses(t *testing.T) {
	t.Parallel()
	src, _ := filepath.Glob("../../testdata/incidents/panic/*.tacho")
	dir := t.TempDir()
	dst := filepath.Join(dir, "a.tacho")
	proof.PutFile(t, dst, []byte("mine"))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-o", dst}, "it exists already"},
		{[]string{"-o", filepath.Join(dir, "none", "a.tacho")}, "no such file or directory"},
		{[]string{"-o", filepath.Join(dir, "b.tacho"), "no.such.metric"}, "no metric"},
		{[]string{"-o", filepath.Join(dir, "b.tacho"), "--from", "2020-01-01", "--to", "2020-01-02"}, "nothing was recorded"},
		{[]string{"-o", filepath.Join(dir, "b.tacho"), "--format", "json"}, "snapshot writes an archive"},
	} {
		_, errs, status := replay(openReal, append([]string{"snapshot", "--archive", src[0]}, c.args...)...)
		if status == 0 || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", c.args, status, errs)
		}
	}
	if b, _ := os.ReadFile(dst); string(b) != "mine" {
		t.Error("it was written over")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
