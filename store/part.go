package store

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
)

// A Part is what a recording holds of one archive: a Reader's are files, others are in memory.
type Part interface {
	// Describe returns the archive's description.
	Describe() *ArchiveInfo
	// Within plans the values in the window of sel.
	Within(sel *Selection) Plan
	// Before plans the last values before the window of sel. It leaves out the metrics that
	// later has, unless later is nil.
	Before(sel *Selection, later Plan) Plan
	// Contain runs fn, which reads the part, and reports whether to go on.
	Contain(fn func() bool) (goOn bool)
}

// A Plan is what a selection selects in a part.
type Plan interface {
	// Has reports whether there are values of a metric.
	Has(metric string) bool
	// Runs yields the values in the order of Select, until yield returns false, and returns
	// what yield returned last.
	Runs(yield func(*Run) bool) (goOn bool)
}

// Select yields the values that sel asks for: part by part in the order of time, within a part
// metric by metric in the order of names, within a metric instance by instance, each in one or
// more runs in the order of time. The parts must be in the order of time.
func Select(parts []Part, sel Selection) iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		walk(parts, &sel, func(p Plan) bool { return p.Runs(yield) })
	}
}

// walk calls fn with the plan of sel for each part, until fn returns false: where a boot begins
// in the window first with the last values of that boot before it, if sel asks for them.
func walk(parts []Part, sel *Selection, fn func(Plan) bool) {
	type boot struct {
		before  Part // the last part before the window
		reaches bool // into the window,
		begun   bool // and it has been reached
	}
	boots := make(map[[2]string]*boot)
	of := func(info *ArchiveInfo) *boot {
		id := [2]string{info.Host.ID, info.BootID}
		if boots[id] == nil {
			boots[id] = new(boot)
		}
		return boots[id]
	}
	for _, p := range parts {
		if info := p.Describe(); info.To < sel.From {
			of(info).before = p
		} else if info.From <= sel.End() {
			of(info).reaches = true
		}
	}
	for _, p := range parts {
		info := p.Describe()
		if info.From > sel.End() || sel.Hosts != nil && !slices.Contains(sel.Hosts, info.Host.ID) {
			continue
		}
		b := of(info)
		if info.To < sel.From {
			// A boot that ended before the window comes in its turn, before everything later.
			if sel.Prior && !b.reaches && b.before == p && !prior(sel, nil, p, fn) {
				return
			}
			continue
		}
		if sel.Prior && !b.begun {
			b.begun = true
			if !prior(sel, b.before, p, fn) {
				return
			}
		}
		if !p.Contain(func() bool { return fn(p.Within(sel)) }) {
			return
		}
	}
}

// prior calls fn with the last values before the window: those in p, and for metrics without
// any in p, those of the part before it.
func prior(sel *Selection, before, p Part, fn func(Plan) bool) bool {
	return p.Contain(func() bool {
		own := p.Before(sel, nil)
		return (before == nil || fn(before.Before(sel, own))) && fn(own)
	})
}

// HostsOf returns the hosts of archives that are in the order of time, each as its latest archive
// describes it.
func HostsOf(archives []*ArchiveInfo) (hosts []metric.Host) {
	for _, info := range archives {
		i := slices.IndexFunc(hosts, func(h metric.Host) bool { return h.ID == info.Host.ID })
		if i < 0 {
			i, hosts = len(hosts), append(hosts, metric.Host{})
		}
		hosts[i] = info.Host
	}
	return hosts
}
