package query

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Behaviour is how a metric was recorded over a window of one archive.
type Behaviour struct {
	Archive  *store.ArchiveInfo
	Metric   *metric.Desc
	Interval int64 // nanoseconds; 0 for a metric that is read once
	// Instances counts series; Present and Missing count values.
	Instances        int
	Present, Missing uint64
	First, Last      int64
	// Reasons are why values were missing, most frequent first.
	Reasons []ReasonCount
	// Min and Max are those of all values; they mean nothing if Numeric is false.
	Min, Max float64
	Numeric  bool
	Resets   uint64
	Wraps    uint64
	// Changes counts, for text and discrete metrics, how often a value differed from the one
	// before.
	Changes uint64
	Latest  metric.Value
}

// ReasonCount is a reason and how many values it explains.
type ReasonCount struct {
	Reason metric.Reason
	Count  uint64
}

// Behaviours returns for each archive of the window how d was recorded.
func Behaviours(a Archive, w Window, d *metric.Desc) []*Behaviour {
	byArchive := make(map[*store.ArchiveInfo]*Behaviour)
	var out []*Behaviour
	_, _, list := Covered(a, w)
	for _, info := range list {
		b := &Behaviour{Archive: info, Metric: d, Interval: interval(info, d.Class)}
		byArchive[info] = b
		out = append(out, b)
	}
	if d.Type != metric.String {
		numbers(a, w, d, byArchive)
	}
	missing := false
	for _, b := range out {
		missing = missing || b.Missing > 0
	}
	if d.Type == metric.String || missing || d.Sem == metric.Discrete {
		details(a, w, d, byArchive)
	}
	return out
}

func numbers(a Archive, w Window, d *metric.Desc, byArchive map[*store.ArchiveInfo]*Behaviour) {
	var last *metric.Instance
	var lastArchive *store.ArchiveInfo
	for s := range a.Summarize(w.Selection(d.Name)) {
		b := byArchive[s.Archive]
		if b == nil {
			continue
		}
		if s.Instance != last || s.Archive != lastArchive || b.Instances == 0 {
			b.Instances++
			last, lastArchive = s.Instance, s.Archive
		}
		b.Present += s.Count
		b.Missing += s.Missing
		b.Resets += uint64(s.Resets)
		b.Wraps += uint64(s.Wraps)
		if s.Count == 0 {
			continue
		}
		lo, hi := metric.Number(d.Type, s.Min), metric.Number(d.Type, s.Max)
		if !b.Numeric {
			b.Numeric, b.Min, b.Max, b.First = true, lo, hi, s.First.Wall
		}
		b.Min, b.Max = min(b.Min, lo), max(b.Max, hi)
		b.First, b.Last = min(b.First, s.First.Wall), max(b.Last, s.Last.Wall)
	}
}

// details counts reasons and changes from the values themselves.
func details(a Archive, w Window, d *metric.Desc, byArchive map[*store.ArchiveInfo]*Behaviour) {
	reasons := make(map[*Behaviour]map[metric.Reason]uint64)
	var prev metric.Value
	var in *metric.Instance
	var b *Behaviour
	known := false
	for run := range a.Select(w.Selection(d.Name)) {
		if next := byArchive[run.Archive]; next != b || run.Instance != in || !known {
			b, in, known = next, run.Instance, true
			prev = metric.Value{Miss: metric.NotRead}
			if d.Type == metric.String && b != nil {
				b.Instances++
			}
		}
		if b == nil {
			continue
		}
		for i, wall := range run.Wall {
			v := run.At(i)
			if v.Miss != metric.Present {
				if reasons[b] == nil {
					reasons[b] = make(map[metric.Reason]uint64)
				}
				reasons[b][v.Miss]++
				if d.Type == metric.String {
					b.Missing++
				}
				continue
			}
			if prev.Miss == metric.Present && (prev.Bits != v.Bits || prev.Str != v.Str) {
				b.Changes++
			}
			prev, b.Latest = v, v
			if d.Type == metric.String {
				b.Present++
				if b.First == 0 || wall < b.First {
					b.First = wall
				}
				b.Last = max(b.Last, wall)
			}
		}
	}
	for b, counts := range reasons {
		for r, n := range counts {
			b.Reasons = append(b.Reasons, ReasonCount{r, n})
		}
		slices.SortFunc(b.Reasons, func(x, y ReasonCount) int {
			return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason.String(), y.Reason.String()))
		})
	}
}
