package linux

import (
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// elsewhere reports whether a metric of the Linux tables is read by another package.
func elsewhere(d *metric.Desc) bool {
	return strings.HasPrefix(d.Name, "proc.") || strings.HasPrefix(d.Name, "thread.") ||
		strings.HasPrefix(d.Name, "recorder.") || d.Name == "sample_window_ms" ||
		strings.HasPrefix(d.Name, "system.report.") || strings.HasPrefix(d.Name, "network.traffic.") || d.Indom == "connection" || d.Indom == "listener" || strings.HasPrefix(d.Name, "network.persocket.")
}

func TestEveryRowHasASource(t *testing.T) {
	sources, err := Sources(tree(t, map[string]string{"proc/stat": "cpu  1 2 3 4\n"}))
	if err != nil {
		t.Fatal(err)
	}
	owner := make(map[string]string)
	for _, s := range sources {
		defer s.Close()
		names := make(map[string]bool)
		for _, g := range s.Groups() {
			if names[g.Name] {
				t.Errorf("%s has two groups %s", s.Name(), g.Name)
			}
			names[g.Name] = true
			for _, d := range g.Metrics {
				if other, twice := owner[d.Name]; twice {
					t.Errorf("%s is supplied by %s and by %s", d.Name, other, s.Name())
				}
				owner[d.Name] = s.Name()
			}
		}
	}
	for _, d := range catalog.For(catalog.Linux) {
		if d.Unsupported == "" && d.Formula == "" && !elsewhere(d) && owner[d.Name] == "" {
			t.Errorf("no source supplies %s (%s)", d.Name, d.Source)
		}
	}
}

func TestLive(t *testing.T) {
	needLinux(t)
	sources, err := Sources("")
	if err != nil {
		t.Fatal(err)
	}
	c := clock(nil)
	present := make(map[string]bool)
	for _, s := range sources {
		defer s.Close()
		for range 2 {
			for k, v := range readAll(t, c, s) {
				if v.Miss == metric.Present {
					present[k.name] = true
				} else if v.Miss == metric.NotRead {
					t.Errorf("%s: %s[%s] has neither value nor reason", s.Name(), k.name, k.instance)
				}
			}
		}
	}
	t.Logf("%d metrics have values here", len(present))
	if len(present) < 150 {
		t.Errorf("only %d metrics have values", len(present))
	}
}
