package store_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/layout"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// updateGolden makes the golden archive of the present format version anew. After a release
// of that version nobody may do so: people have such archives, and must be able to read them.
var updateGolden = flag.Bool("update-golden", false, "make the golden archive of the present format")

// TestGolden reads archives of every format version there ever was: made ones, and one of
// a real machine.
func TestGolden(t *testing.T) {
	if *updateGolden {
		makeGolden(t)
	}
	paths, err := filepath.Glob("testdata/v*" + layout.FinishedSuffix)
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d golden archives: %v", len(paths), err)
	}
	for _, p := range paths {
		want, err := os.ReadFile(strings.TrimSuffix(p, layout.FinishedSuffix) + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		got := dump(t, p)
		if sum, ok := strings.CutPrefix(string(want), "sha256 "); ok { // of what would be long
			if have := fmt.Sprintf("%x\n", sha256.Sum256([]byte(got))); have != sum {
				t.Errorf("%s: its dump has the sum %s, want %s", p, have, sum)
			}
			continue
		}
		if string(want) == got {
			continue
		}
		g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range w {
			if i >= len(g) || g[i] != w[i] {
				t.Fatalf("%s: line %d is\n%s\nwant\n%s", p, i+1, append(g, make([]string, i+1)...)[i], w[i])
			}
		}
		t.Fatalf("%s: %d lines, want %d", p, len(g), len(w))
	}
}

// An archive has the same values when it is compacted, which may be by a program that
// writes a later format: its chunks are taken over as they are, or merged.
func TestCompactionOfGoldens(t *testing.T) {
	proof.Unraced(t)
	for _, p := range []string{"testdata/v2.tacho", "testdata/v2.machine.tacho"} {
		a, err := archive.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		path := filepath.Join(t.TempDir(), "a"+layout.FinishedSuffix)
		proof.Compact(t, a, path)
		if joined(dump(t, path)) != joined(dump(t, p)) {
			t.Errorf("%s: compacted, it has other values", p)
		}
	}
}

// joined is a dump with one line for each series, wherever its chunks end, in
// the order of their names.
func joined(dump string) string {
	values := make(map[string]string)
	for line := range strings.Lines(dump) {
		name, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		values[name] += " " + v
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintln(&out, name, values[name])
	}
	return out.String()
}

func makeGolden(t *testing.T) {
	t.Helper()
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "a"))
	for seed := range uint64(4) {
		w := storetest.NewWorld(seed)
		for range 40 {
			b.Append(w.Tick())
		}
		at := metric.Stamp{Wall: 1700000000e9 + int64(seed), Cont: 1, Awake: 2}
		b.Seal([]metric.Event{{At: at, Kind: metric.EventGap, Text: "a gap", Labels: []metric.Label{{Name: "seconds", Value: "3"}}},
			{At: at, Kind: metric.EventProcessStart, Indom: "process", Key: fmt.Sprint(seed)}})
	}
	base := fmt.Sprintf("testdata/v%d", layout.FormatVersion)
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	b.Finish(base + layout.FinishedSuffix)
	if err := os.WriteFile(base+".txt", []byte(dump(t, base+layout.FinishedSuffix)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dump prints all of an archive.
func dump(t *testing.T, path string) string {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out strings.Builder
	for _, a := range r.Archives() {
		fmt.Fprintf(&out, "archive %s format %d host %v boot %s zone %s recorder %s from %d to %d damage %v\n",
			a.ID, a.Format, a.Host, a.BootID, a.TimeZone, a.Recorder, a.From, a.To, a.Damage)
	}
	var indoms []string
	for _, d := range r.Metrics() {
		fmt.Fprintf(&out, "metric %s %v %v %v\n", d.Name, d.Type, d.Sem, d.Indom)
		if d.Indom != "" && !slices.Contains(indoms, d.Indom) {
			indoms = append(indoms, d.Indom)
		}
	}
	for run := range r.Select(store.Selection{}) {
		fmt.Fprintf(&out, "run %s %v:", seriesName(run.Metric, run.Instance), run.Metric.Class)
		for i := range run.Wall {
			v := run.At(i)
			fmt.Fprintf(&out, " %d/%d=%x%q", run.Wall[i], run.Cont[i], v.Bits, v.Str)
			if v.Miss != metric.Present {
				fmt.Fprintf(&out, "(%v)", v.Miss)
			}
		}
		out.WriteByte('\n')
	}
	for _, indom := range indoms {
		for l := range r.Lives(indom, 0, 0) {
			fmt.Fprintf(&out, "life %s %s %d to %d %v\n", l.Indom, l.Instance.Key, l.From, l.To, l.Names)
		}
	}
	for e := range r.Events(0, 0) {
		fmt.Fprintf(&out, "event %v\n", e.Event)
	}
	return out.String()
}
