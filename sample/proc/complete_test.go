package proc

import (
	"slices"
	"strings"
	"testing"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/proc/libproc"
)

// checkComplete compares the groups of sources with the catalogue.
func checkComplete(t *testing.T, p catalog.Platform, sources []sample.Source) {
	t.Helper()
	supplied := make(map[string]bool)
	for _, s := range sources {
		for _, g := range s.Groups() {
			for _, d := range g.Metrics {
				if supplied[d.Name] {
					t.Errorf("%s is supplied twice", d.Name)
				}
				supplied[d.Name] = true
			}
		}
	}
	for _, d := range catalog.For(p) {
		ours := slices.ContainsFunc([]string{"proc.", "thread.", "coalition.", "network.traffic.", "network.persocket.", "network.listener."},
			func(prefix string) bool { return strings.HasPrefix(d.Name, prefix) })
		if ours && d.Unsupported == "" && d.Formula == "" && !supplied[d.Name] {
			t.Errorf("%s: no source reads %s", p, d.Name)
		}
	}
}

func TestEveryRowOfMacOSIsRead(t *testing.T) {
	s, threads := macSources(newMacKernel(Options{}, nil, nil, libproc.Ticks{Numer: 1, Denom: 1}))
	checkComplete(t, catalog.Darwin, []sample.Source{s, threads})
}
