package why

import (
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

const (
	// leastMinute is the shortest length of a piece of time in which connections and listeners
	// are looked at, and mostMinutes the most pieces.
	leastMinute = int64(60e9)
	mostMinutes = 240
)

// minutes returns the ends of pieces of time in and around the window, of a minute or more: in
// each of them connections and listeners were read about once.
func (q *question) minutes() (cuts []int64) {
	from, to := max(q.field.from, q.w.From-ledgerAside), min(q.field.begin(q.field.n), q.w.To+ledgerAside)
	width := max(leastMinute, (to-from)/mostMinutes)
	for at := from + width; at < to; at += width {
		cuts = append(cuts, at)
	}
	return append(cuts, to)
}

// A look is what a metric of an instance was in a piece of time.
type look struct {
	piece      int
	metric     string
	in         *metric.Instance
	at         int64 // of the last reading in it
	last, most float64
	// gain is what a counter grew by since the piece before; NaN in the first one.
	gain float64
}

// looks passes the values of some metrics of a domain, piece by piece.
func (q *question) looks(cuts []int64, each func(*look), metrics ...string) {
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(name string) bool { return q.a.Lookup(name) == nil })
	if len(metrics) == 0 || len(cuts) == 0 {
		return
	}
	sel := store.Selection{Hosts: q.w.Hosts, Metrics: metrics, From: q.field.from, To: cuts[len(cuts)-1], Cuts: cuts}
	sel.From = max(sel.From, q.w.From-ledgerAside)
	last := make(map[[2]string]store.Point)
	for s := range q.a.Summarize(sel) {
		k, _ := slices.BinarySearch(cuts, s.First.Wall)
		if s.Count == 0 || s.Instance == nil || k >= len(cuts) || s.Metric.Type == metric.String {
			continue
		}
		l := look{piece: k, metric: s.Metric.Name, in: s.Instance, at: s.Last.Wall, last: metric.Number(s.Metric.Type, s.Last.Bits),
			most: metric.Number(s.Metric.Type, s.Max), gain: math.NaN()}
		if s.Metric.Sem == metric.Counter {
			id := [2]string{s.Metric.Name, s.Instance.Key}
			if p, ok := last[id]; ok {
				more, _ := metric.Increase(s.Metric, p.Bits, s.First.Bits, float64(s.First.Cont-p.Cont)/1e9)
				l.gain = float64(s.Increase) + more
			}
			last[id] = s.Last
		}
		each(&l)
	}
}

// holder names the process that a connection or a listener belongs to; "" where that is not known.
func holder(in *metric.Instance) string {
	name := in.Label("name")
	if name == "" {
		return ""
	}
	title := name
	if pid := in.Label("pid"); pid != "" {
		title += " (pid " + pid + ")"
	}
	return title + query.WhoseIs(in).Beside(name)
}
