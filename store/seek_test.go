package store_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/query"
)

// TestSeekingMissesNothing asks for instances by patterns and by what these tell
// of names, and again without, when every name is decoded and asked about: in
// archives of all versions.
func TestSeekingMissesNothing(t *testing.T) {
	paths, err := filepath.Glob("testdata/v*" + layout.FinishedSuffix)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives: %v", err)
	}
	for _, p := range paths {
		var names []string
		indoms := make(map[string]bool)
		r := open(t, p)
		for _, d := range r.Metrics() {
			if d.Indom != metric.NoIndom && !indoms[d.Indom] {
				indoms[d.Indom] = true
				for l := range r.Lives(d.Indom, 0, 0) {
					names = append(names, l.Instance.Key)
					for _, n := range l.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		slow := open(t, p)
		for i := 0; i < len(names); i += 1 + len(names)/5 {
			name := names[i]
			half := len(name) / 2
			for _, pattern := range []string{name, "*" + name[half:], name[:half] + "*", "*" + name[half/2:half] + "?*", "/" + fmt.Sprintf(`\b%d`, i) + "/", `/[a-c]\d+$/`} {
				accept, sought, err := query.InstanceFilter([]string{pattern})
				if err != nil {
					continue // It is no pattern.
				}
				sel := store.Selection{Instance: accept}
				want := rows(slow, sel)
				sel.Sought = sought
				if got := rows(open(t, p), sel); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, %q: %v, want %v", p, pattern, got, want)
				}
			}
		}
	}
}

func open(t *testing.T, path string) *store.Reader {
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// rows are what a selection yields, in short.
func rows(r *store.Reader, sel store.Selection) (out []string) {
	for run := range r.Select(sel) {
		if run.Instance != nil {
			out = append(out, fmt.Sprintf("%s %s %s %d %x", run.Metric.Name, run.Instance.Key, run.Instance.Name, len(run.Wall), run.Bits))
		}
	}
	return out
}
