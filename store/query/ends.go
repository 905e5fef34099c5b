package query

import (
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// ends knows when instances went away, so that their last values do not hold for ever: a volume
// that was unmounted is no longer full.
type ends struct {
	a      Archive
	w      Window
	byName map[string]*domain
}

// domain holds when each instance of a domain, and any of them, was last seen.
type domain struct {
	seen map[[2]string]int64 // by host and key
	last map[string]int64    // by host
	// often is how far apart its metrics are read, not counting those that are read rarely.
	often int64
}

// longestOften is the longest interval of a metric that is not read rarely.
const longestOften = int64(10 * time.Minute)

func newEnds(a Archive, w Window) *ends {
	return &ends{a: a, w: w, byName: make(map[string]*domain)}
}

func (e *ends) domain(indom string) *domain {
	d := e.byName[indom]
	if d != nil {
		return d
	}
	d = &domain{seen: make(map[[2]string]int64), last: make(map[string]int64)}
	e.byName[indom] = d
	from := e.w.From
	_, _, list := Covered(e.a, e.w)
	for _, info := range list {
		from = min(from, info.From)
	}
	for l := range e.a.Lives(indom, from, e.w.To) {
		host := l.Archive.Host.ID
		id := [2]string{host, l.Instance.Key}
		d.seen[id] = max(d.seen[id], l.To)
		d.last[host] = max(d.last[host], l.To)
	}
	for _, m := range e.a.Metrics() {
		if m.Indom != indom {
			continue
		}
		for _, info := range list {
			if iv := interval(info, m.Class); iv <= longestOften {
				d.often = max(d.often, iv)
			}
		}
	}
	return d
}

// after returns when the instance was last seen whose metric m was last read at wall, and whether
// it went away: others of its domain were seen long after.
func (e *ends) after(info *store.ArchiveInfo, m *metric.Desc, in *metric.Instance, wall int64) (end int64, gone bool) {
	if in == nil {
		return 0, false
	}
	d := e.domain(m.Indom)
	host := info.Host.ID
	end = max(d.seen[[2]string{host, in.Key}], wall)
	due := d.often
	if end == wall {
		// Only the readings of m know it; a metric that is read once does not show whether it was
		// there later.
		if due = interval(info, m.Class); due == 0 || due > longestOften {
			return 0, false
		}
	}
	return end, d.last[host] > end+due+due/2
}
