package export

import (
	"context"
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// Values yields the recorded values of one metric in a window, unchanged, with their absences.
// Each series comes in one or more stretches in the order of time. A new stretch begins when its
// instance gets another name. Keys, if any, select instances. For rarely read metrics (see
// Rare), if w begins where the request does, the last values before w come first. The sequence
// ends with an error when the context ends.
func (r *Request) Values(ctx context.Context, w query.Window, d *metric.Desc, keys ...string) iter.Seq2[*query.Series, error] {
	return func(yield func(*query.Series, error) bool) {
		for _, part := range r.standing(w, d) {
			q := query.Request{Window: part.Window, Metrics: []string{d.Name}, Instance: r.Instance, Sought: r.Sought, Keys: keys, Mode: query.Raw, Before: part.boot != ""}
			names := query.NewNames(r.Archive, q)
			for s, err := range query.Read(r.Archive, q) {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if q.Before && s.Wall[0] < q.From && s.Archive.BootID != part.boot {
					continue // values of another boot do not hold in this one
				}
				for one := range names.Split(s, d.Indom) {
					if !yield(one, nil) {
						return
					}
				}
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Rare reports whether the last values of a class before the window belong to it. They describe
// the system and its configuration, and are read once, or less often than the window is long.
func (r *Request) Rare(in *store.ArchiveInfo, c metric.Class) bool {
	switch c {
	case metric.Static:
		return true
	case metric.Constrained, metric.Polled:
		every := in.Intervals[c]
		if every <= 0 {
			every = c.Interval()
		}
		to := in.To
		if r.Window.To != 0 {
			to = min(to, r.Window.To)
		}
		return int64(every) > to-max(in.Begin(), r.Window.From)
	}
	return false
}

// A standing is a window and the boot whose last values before it are wanted; boot is empty if
// none are.
type standing struct {
	query.Window
	boot string
}

// standing returns w or, if a metric is read so rarely that the values before w belong to it,
// one window for each host.
func (r *Request) standing(w query.Window, d *metric.Desc) []standing {
	all := []standing{{Window: w}}
	if metric.PerBoot(d.Indom) {
		return all
	}
	var list []standing
	any := false
	for _, h := range r.Archive.Hosts() {
		if !w.Wants(h.ID) {
			continue
		}
		one := standing{Window: query.Window{Hosts: []string{h.ID}, From: w.From, To: w.To}}
		_, _, archives := query.Covered(r.Archive, query.Window{Hosts: one.Hosts, From: r.Window.From, To: r.Window.To})
		if len(archives) > 0 {
			in := slices.MinFunc(archives, func(a, b *store.ArchiveInfo) int { return int(min(1, max(-1, a.Begin()-b.Begin()))) })
			if begin := max(in.Begin(), r.Window.From); w.From <= begin && r.Rare(in, d.Class) {
				one.From, one.boot, any = begin, in.BootID, true
			}
		}
		list = append(list, one)
	}
	if !any {
		return all
	}
	return list
}
