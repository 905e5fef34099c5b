package catalog

import (
	"slices"
	"testing"

	"tachograph/sample/metric"
)

func TestFindIsACopy(t *testing.T) {
	d := Find(Linux, "mem.freemem")
	if d == nil || d.Source == "" {
		t.Fatalf("Find(mem.freemem) = %+v", d)
	}
	d.Unsupported = "broken"
	if Find(Linux, "mem.freemem").Unsupported != "" {
		t.Error("marking a copy changed the table")
	}
	if Find(Darwin, "no.such.metric") != nil {
		t.Error("an unknown name was found")
	}
}

func TestForIsSorted(t *testing.T) {
	for _, p := range []Platform{Darwin, Linux} {
		if !slices.IsSortedFunc(For(p), func(a, b *metric.Desc) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		}) {
			t.Errorf("%s: not sorted by name", p)
		}
	}
}

func TestGroup(t *testing.T) {
	g := Group(Darwin, "vm", "mem.freemem", "mem.active")
	if g.Indom != metric.NoIndom || len(g.Metrics) != 2 || g.Metrics[1].Name != "mem.active" {
		t.Errorf("Group = %+v", g)
	}
	for name, names := range map[string][]string{
		"an unknown name":        {"no.such.metric"},
		"two instance domains":   {"mem.freemem", "disk.dev.read"},
		"a mistake further down": {"disk.dev.read", "disk.dev.write", "mem.freemem"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			Group(Linux, "g", names...)
		}()
	}
}
