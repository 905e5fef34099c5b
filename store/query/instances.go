package query

import (
	"slices"

	"tachograph/sample/metric"
)

// InstanceNames lists the names of the instances of d that were seen in the window.
func InstanceNames(a Archive, w Window, d *metric.Desc) []string {
	seen := make(map[string]bool)
	for l := range a.Lives(d.Indom, w.From, w.To) {
		if w.Wants(l.Archive.Host.ID) {
			seen[l.Instance.Name] = true
		}
	}
	var out []string
	for name := range seen {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
