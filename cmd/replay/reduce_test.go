package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/metric"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
)

// loads makes archives of one metric, ten minutes of each boot.
func loads(t *testing.T, boots ...string) []string {
	t.Helper()
	d := &metric.Desc{Name: "kernel.all.runnable", Type: metric.U64, Sem: metric.Instant, Class: metric.Fast}
	g := &metric.Group{Name: "load", Metrics: []*metric.Desc{d}}
	dir := t.TempDir()
	var paths []string
	for n, boot := range boots {
		path := filepath.Join(dir, boot+".tacho")
		iv := metric.Intervals{}
		iv[metric.Fast] = 1e9
		w, err := rewrite.Create(path, rewrite.About{Host: metric.Host{ID: "m", Name: "m", Platform: "linux"}, Boot: boot, TimeZone: "UTC", Intervals: iv})
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(600) {
			at := metric.Stamp{Wall: 1795168800e9 + int64(n)*3600e9 + i*1e9, Cont: i*1e9 + 1, Awake: i*1e9 + 1}
			b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{uint64(i * 7 % 60)}}}}
			if err := w.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestReduceAndAsk(t *testing.T) {
	t.Parallel()
	paths := loads(t, "one", "two")
	dst := filepath.Join(t.TempDir(), "steps.tacho")
	status, out, errs := runReplay("reduce", "--keep", "1m", "-o", dst, paths[0])
	if status != cli.Yes || errs != "" || !strings.Contains(out, "1 archive") || !strings.Contains(out, "in steps of 1m") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for _, q := range [][]string{
		{"values", "kernel.all.runnable"}, {"values", "reduced.max.kernel.all.runnable"}, {"rates", "kernel.all.runnable", "--step", "5m"},
		{"ranges", "kernel.all.runnable"}, {"plot", "kernel.all.runnable"}, {"find", "kernel.all.runnable > 3"}, {"events"}, {"at", "end"},
	} {
		status, out, errs := runReplay(append(q, "--archive", dst)...)
		if status == cli.Failed || !strings.Contains(errs, "steps of 1m") {
			t.Errorf("%v: status %d\n%s%s", q, status, out, errs)
		}
	}
	_, want, _ := runReplay("ranges", "kernel.all.runnable", "--archive", paths[0], "--format", "csv")
	_, got, _ := runReplay("ranges", "kernel.all.runnable", "--archive", dst, "--format", "csv")
	fields := func(s string) []string {
		rows := strings.Split(strings.TrimSpace(s), "\n")
		return strings.Split(rows[len(rows)-1], ",")
	}
	x, y := fields(want), fields(got)
	for i := range 8 {
		if x[i] != y[i] {
			t.Errorf("ranges answers %q of steps and %q of what they were made of", y[i], x[i])
		}
	}
	if status, out, _ := runReplay("info", dst); status != cli.Yes || !strings.Contains(out, "steps of 1m, of 1 archive") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, out, errs := runReplay("verify", dst); status != cli.Yes {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	both := filepath.Join(t.TempDir(), "both.tacho")
	status, out, errs = runReplay(append([]string{"reduce", "--keep", "1m", "-o", both}, paths...)...)
	if st, err := os.Stat(both); status != cli.Yes || err != nil || !st.Mode().IsRegular() || !strings.Contains(out, "2 archives") {
		t.Errorf("status %d, %v\n%s%s", status, err, out, errs)
	}
	if status, out, errs := runReplay("verify", both); status != cli.Yes {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	if status, out, _ := runReplay("info", both); status != cli.Yes || strings.Count(out, "steps of 1m, of 1 archive") != 2 {
		t.Errorf("status %d\n%s", status, out)
	}
	if list, _ := os.ReadDir(filepath.Dir(both)); len(list) != 1 {
		t.Errorf("there is %v", list)
	}
}

func TestReduceRefuses(t *testing.T) {
	t.Parallel()
	paths := loads(t, "one")
	dir := t.TempDir()
	dst := filepath.Join(dir, "steps.tacho")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", dst}, "--keep 1m"},
		{[]string{"--keep", "1m"}, "-o NEW"},
		{[]string{"--keep", "7s", "-o", dst}, "does not divide a day"},
		{[]string{"--keep", "1m", "-o", dst, "--processes", "few"}, "top=N"},
		{[]string{"--keep", "1m", "-o", paths[0]}, "exists already"},
	} {
		status, _, errs := runReplay(append(append([]string{"reduce"}, c.args...), paths[0])...)
		if status != cli.Failed || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d, %s", c.args, status, errs)
		}
	}
	if status, _, errs := runReplay("reduce", "--keep", "1m", "-o", dst, paths[0]); status != cli.Yes {
		t.Fatal(errs)
	}
	if status, _, errs := runReplay("reduce", "--keep", "90s", "-o", dst+"2", dst); status != cli.Failed || !strings.Contains(errs, "multiple") {
		t.Errorf("status %d, %s", status, errs)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("there is %v", list)
	}
}

// What top says of the processes of a reduced archive is what it said of its source: who they
// were and when they were there, which most of them were for less than a step; what they held
// on average is kept with fewer digits.
func TestReducedTop(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"crash-loop", "fork-storm", "runaway-loop", "memory-hog"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testReducedTop(t, name)
		})
	}
}

func testReducedTop(t *testing.T, incidentName string) {
	dir, path, _ := incident(t, incidentName, "a.tacho")
	reduced := filepath.Join(dir, "reduced", "a.tacho")
	if err := os.Mkdir(filepath.Dir(reduced), 0o755); err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(dir, "reduced", "b.tacho")
	for _, line := range [][]string{{"reduce", path, "--keep", "10s", "-o", twice}, {"reduce", path, "--keep", "1m", "-o", reduced}} {
		if _, stderr, status := replay(openReal, line...); status != 0 {
			t.Fatalf("exit %d: %s", status, stderr)
		}
	}
	rows := func(archive string) (head []string, byKey map[string][]string) {
		out, stderr, status := replay(openReal, "top", "--number", "0", "--archive", archive, "--format", "csv")
		list, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || status != 0 {
			t.Fatalf("exit %d, %v: %s", status, err, stderr)
		}
		byKey = make(map[string][]string)
		for _, row := range list[1:] {
			byKey[row[slices.Index(list[0], "key")]] = row
		}
		return list[0], byKey
	}
	head, want := rows(path)
	for _, archive := range []string{reduced, twice} {
		_, got := rows(archive)
		if len(got) != len(want) || len(want) < 10 {
			t.Fatalf("%d processes, %d in the source", len(got), len(want))
		}
		for key, row := range want {
			for i, name := range head {
				a, b := row[i], got[key][i]
				x, errX := strconv.ParseFloat(a, 64)
				y, errY := strconv.ParseFloat(b, 64)
				near := errX == nil && errY == nil && math.Abs(x-y) <= 2e-3*math.Abs(x)
				gone := b == "" && (name == "rss_kb" || name == "vm_size_kb") // what it held when it ended is not kept
				// The window is that of the ticks, of which a reduced archive has fewer.
				rounded := name == "memory_mean" || name == "sample_window_ms" || name == "cpu_percent"
				if a != b && !gone && !(near && rounded) {
					t.Errorf("%s: %s of %s is %q, of the source %q", archive, name, key, b, a)
				}
			}
		}
	}
}

// What a reduced archive holds beside its values is compared as part of these, and not by itself.
func TestReducedDiff(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir, path, _ := incident(t, "fork-storm", "a.tacho")
	reduced := filepath.Join(dir, "reduced.tacho")
	if _, stderr, status := replay(openReal, "reduce", path, "--keep", "10s", "-o", reduced); status != 0 {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	out, stderr, status := replay(openReal, "diff", "09:00:10..09:01:30", "09:02:00..09:03:30", "--archive", reduced)
	if status != 0 || !strings.Contains(out, " 1. ") || strings.Contains(out, "[reduced.") {
		t.Errorf("exit %d: %s\n%s", status, stderr, out)
	}
}

// A group whose metrics change within a step is told in that step before and after.
func TestReduceWhereAGroupChanges(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir, path, _ := incident(t, "memory-hog", "a.tacho")
	if _, stderr, status := replay(openReal, "reduce", path, "--keep", "1m", "-o", filepath.Join(dir, "b.tacho")); status != 0 {
		t.Errorf("exit %d: %s", status, stderr)
	}
}

// A directory with a copy that reaches beyond its source is reduced as merge would put it together.
func TestReduceCopies(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir, path, _ := incident(t, "crash-loop", "a.tacho")
	for _, line := range [][]string{
		{"snapshot", "--archive", path, "--to", "start+2m", "-o", filepath.Join(dir, "begin.tacho")},
		{"snapshot", "--archive", path, "--from", "start+1m", "-o", filepath.Join(dir, "end.tacho")},
	} {
		if _, stderr, status := replay(openReal, line...); status != 0 {
			t.Fatalf("%v: %s", line, stderr)
		}
	}
	to := t.TempDir()
	whole, parts := filepath.Join(to, "whole.tacho"), filepath.Join(to, "parts.tacho")
	if _, stderr, status := replay(openReal, "reduce", path, "--keep", "10s", "-o", whole); status != 0 {
		t.Fatal(stderr)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := replay(openReal, "reduce", dir, "--keep", "10s", "-o", parts); status != 0 {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	for _, question := range [][]string{{"values", "kernel.all.load", "proc.psinfo.utime"}, {"events"}} {
		args := append(question, "--format", "csv", "--archive")
		want, _, _ := replay(openReal, append(args, whole)...)
		got, stderr, status := replay(openReal, append(args, parts)...)
		if inOrder(got) != inOrder(want) || status != 0 {
			t.Errorf("%v: exit %d, %s\n%s", question, status, stderr, firstDifference(want, got))
		}
	}
	if left, err := os.ReadDir(to); err != nil || len(left) != 2 {
		t.Errorf("there is %v, %v", left, err)
	}
}
