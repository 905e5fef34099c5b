package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/storetest/proof"
)

// What was exported for PCP and imported again answers as the recording does.
func TestImportAnswers(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	for _, incident := range []string{"sleep", "crash-loop", "fork-storm"}[:proof.Pick(t, 1, 3)] {
		found, err := filepath.Glob("../../testdata/incidents/" + incident + "/*.tacho")
		if err != nil || len(found) == 0 {
			t.Fatalf("no recording of %s: %v", incident, err)
		}
		src := found[0]
		t.Run(incident, func(t *testing.T) {
			dir := t.TempDir()
			base, dst := filepath.Join(dir, "pcp"), filepath.Join(dir, "again.tacho")
			if out, errs, status := replay(openReal, "export", "--archive", src, "--format", "pcp", "-o", base); status != 0 || errs != "" {
				t.Fatalf("exit %d: %s%s", status, out, errs)
			}
			if out, errs, status := replay(openReal, "import", "--format", "pcp", base+".meta", "-o", dst); status != 0 || errs != "" {
				t.Fatalf("exit %d: %s%s", status, out, errs)
			}
			proof.Sound(t, dst)
			for _, question := range [][]string{
				{"top", "--number", "0"}, {"ps", "*e*"}, {"events"}, {"rates", "kernel.all.cpu", "disk.dev", "network.interface", "proc.psinfo.utime"},
				{"values", "kernel", "mem", "disk", "network", "proc", "hinv", "filesys"},
			} {
				args := append(slices.Clone(question), "--format", "csv")
				want, _, wantStatus := replay(openReal, append(args, "--archive", src)...)
				got, errs, status := replay(openReal, append(args, "--archive", dst)...)
				if got, want := inOrder(got), inOrder(want); got != want || status != wantStatus {
					t.Errorf("replay %s: exit %d, want %d: %s\n%s", strings.Join(args, " "), status, wantStatus, errs, firstDifference(want, got))
				}
			}
		})
	}
}

// An archive of PCP of two boots becomes one file, and what cannot be imported is said in
// a sentence.
func TestImportBundles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base, dst := filepath.Join(dir, "pcp"), filepath.Join(dir, "two.tacho")
	const start = int64(1795300000e9)
	w, err := pcparchive.Create(base, pcparchive.Options{Label: pcparchive.Label{Start: start, Host: "web1", TZ: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const load = 60<<22 | 2<<10
	check(w.Desc(&pcparchive.Desc{PMID: load, Type: pcp.Float, InDom: pcp.Null, Semantics: pcp.Instant, Names: []string{"vendor.load"}}))
	for i := range int64(4) {
		if i == 2 {
			check(w.Mark(start + 15e9))
		}
		check(w.Result(start+i*10e9, []pcparchive.Set{{PMID: load, Type: pcp.Float, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{0x3f800000}}}}))
	}
	_, err = w.Finish()
	check(err)
	if out, errs, status := replay(openReal, "import", "--format", "pcp", base, "-o", dst); status != 0 || !strings.Contains(out, "4 values in 4 ticks") {
		t.Fatalf("exit %d: %s%s", status, out, errs)
	}
	if out, errs, status := replay(openReal, "verify", dst); status != 0 {
		t.Errorf("exit %d: %s%s", status, out, errs)
	}
	if out, errs, status := replay(openReal, "values", "vendor.load", "--format", "csv", "--archive", dst); status != 0 || strings.Count(out, "\n") != 5 {
		t.Errorf("exit %d: %s%s", status, out, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{base, "-o", dst}, "import needs a format: --format pcp"},
		{[]string{"--format", "csv", base, "-o", dst}, `import has no format "csv": it has pcp`},
		{[]string{"--format", "pcp", "-o", dst}, "import needs an archive of PCP"},
		{[]string{"--format", "pcp", base}, "import needs a name for the new archive"},
		{[]string{"--format", "pcp", base, "-o", dst}, "exists, and nothing is written over"},
		{[]string{"--format", "pcp", dir + "/none", "-o", dst + "2"}, "there is no archive of PCP called"},
		{[]string{"--format", "pcp", base, "-o", dir + "/no/such"}, "cannot write"},
	} {
		if _, errs, status := replay(openReal, append([]string{"import"}, c.args...)...); status != 2 || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", c.args, status, errs)
		}
	}
}
