package why

import (
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// A valueRange is what a series came to in a stretch of time, with the value before the stretch if
// the selection asks for that.
type valueRange struct {
	desc              *metric.Desc
	instance          *metric.Instance
	first, last, most float64
	begin, end        int64 // the times of the first and the last
	inside            insideRange
}

// An insideRange is of the values in the stretch alone.
type insideRange struct {
	first, most float64
	begin       int64 // the time of the first; 0 if there is none
	from, to    int64 // the values between these have most among them
}

// A seriesID says which series it is.
type seriesID struct {
	metric string
	in     *metric.Instance
}

func (r *valueRange) id() seriesID { return seriesID{r.desc.Name, r.instance} }

// gain is how much a counter grew in a stretch: of what it grew from the value before to the last
// one, as much as belongs to the stretch.
func (r *valueRange) gain(at proofTime) float64 {
	switch {
	case r.instance != nil && r.instance.Began() >= at.from:
		return r.last // All that it ever used.
	case r.end <= r.begin:
		return 0
	case r.inside.begin == at.from:
		return r.last - r.inside.first
	}
	return (r.last - r.first) * float64(max(r.end-max(r.begin, at.from), 0)) / float64(r.end-r.begin)
}

// highest is the highest value in the stretch, or that before it if there is none.
func (r *valueRange) highest() float64 {
	if r.inside.begin == 0 {
		return r.last
	}
	return r.inside.most
}

// ranges returns the range of each series of a selection that has values.
func (q *question) ranges(sel store.Selection) (list []*valueRange) {
	of := make(map[seriesID]*valueRange)
	for s := range q.a.Summarize(sel) {
		if s.Count == 0 {
			continue
		}
		number := func(bits uint64) float64 { return metric.Number(s.Metric.Type, bits) }
		id := seriesID{s.Metric.Name, s.Instance}
		r := of[id]
		if r == nil {
			r = &valueRange{desc: s.Metric, instance: s.Instance, first: number(s.First.Bits), begin: s.First.Wall, most: math.Inf(-1)}
			of[id], list = r, append(list, r)
		}
		most := number(s.Max)
		r.end, r.last, r.most = s.Last.Wall, number(s.Last.Bits), math.Max(r.most, most)
		if s.First.Wall < sel.From {
			continue
		}
		in := &r.inside
		if in.begin == 0 {
			in.first, in.begin, in.most = number(s.First.Bits), s.First.Wall, math.Inf(-1)
		}
		if most > in.most {
			in.most, in.from, in.to = most, s.First.Wall, s.Last.Wall
		}
	}
	return list
}

// date adds to the claims of maxima when they were first reached. One that adds up several series
// has no such instant, and neither has the mean of a step of a reduced archive.
func (q *question) date(all []*proof) {
	type stretch struct{ from, to int64 }
	of := make(map[stretch][]*proof)
	for _, p := range all {
		if p.claim.Of != "max" || len(p.ranges) != 1 {
			continue
		}
		switch r := p.ranges[0]; {
		case r.inside.begin == 0:
			p.claim.At = r.end
		case r.inside.first == r.inside.most:
			p.claim.At = r.inside.begin
		default:
			at := stretch{r.inside.from, r.inside.to}
			of[at] = append(of[at], p)
		}
	}
	for at, list := range of {
		sel := query.Window{Hosts: q.w.Hosts, From: at.from, To: at.to}.Selection()
		sel.Keys = []string{}
		wanted := make(map[seriesID][]*proof)
		for _, p := range list {
			r := p.ranges[0]
			if wanted[r.id()] = append(wanted[r.id()], p); !slices.Contains(sel.Metrics, p.metric) {
				sel.Metrics = append(sel.Metrics, p.metric)
			}
			if r.instance != nil {
				sel.Keys = append(sel.Keys, r.instance.Key)
			}
		}
		for run := range q.a.Select(sel) {
			id := seriesID{run.Metric.Name, run.Instance}
			if some := wanted[id]; some != nil {
				if at := reached(run, some[0].ranges[0].highest()); at != 0 {
					for _, p := range some {
						p.claim.At = at
					}
					delete(wanted, id)
				}
			}
			if len(wanted) == 0 {
				break
			}
		}
	}
}

// reached returns when a run first has a value, 0 if it has not.
func reached(run *store.Run, value float64) int64 {
	for i, wall := range run.Wall {
		if v := run.At(i); v.Miss == metric.Present && metric.Number(v.Type, v.Bits) == value {
			return wall
		}
	}
	return 0
}
