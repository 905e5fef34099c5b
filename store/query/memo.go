package query

import (
	"iter"

	"tachograph/store"
	"tachograph/store/derive"
)

// memo is an Archive that remembers the values of metrics from an instant on. Where readings are
// not as far apart as they should be, each slice of an expression holds few of a chunk's values,
// and each slice would decode the whole chunk: hundreds of times for a chunk whose times are
// spread over centuries.
type memo struct {
	Archive
	from int64
	of   map[string][]store.Part // nil for metrics with too many values
	left int                     // how many more values are kept
}

// mostRemembered is how many values a memo keeps, 24 bytes each.
const mostRemembered = 1 << 20

func newMemo(a Archive, from int64) *memo {
	return &memo{Archive: a, from: from, of: make(map[string][]store.Part), left: mostRemembered}
}

// Select is the Archive's Select, but decodes each metric only once where it can.
func (m *memo) Select(sel store.Selection) iter.Seq[*store.Run] {
	if len(sel.Metrics) != 1 || sel.From < m.from {
		return m.Archive.Select(sel)
	}
	name := sel.Metrics[0]
	parts, known := m.of[name]
	if !known {
		parts = m.read(sel.Hosts, name)
		m.of[name] = parts
	}
	if parts == nil {
		return m.Archive.Select(sel)
	}
	return store.Select(parts, sel)
}

// read reads a metric from m.from to the end; nil if it has too many values.
func (m *memo) read(hosts []string, name string) []store.Part {
	parts, left := []store.Part{}, m.left
	of := make(map[*store.ArchiveInfo]*derive.Part)
	for run := range m.Archive.Select(store.Selection{Hosts: hosts, Metrics: []string{name}, From: m.from, Prior: true}) {
		if left -= len(run.Wall); left < 0 || run.Words != nil {
			return nil
		}
		p := of[run.Archive]
		if p == nil {
			p = &derive.Part{Info: run.Archive}
			of[run.Archive] = p
			parts = append(parts, p)
		}
		p.Runs = append(p.Runs, copied(run))
	}
	m.left = left
	return parts
}
