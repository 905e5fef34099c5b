package why

import (
	"math"
	"regexp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// source is a metric that a finding is based on.
type source struct {
	metric string
	// name and key identify its instance; a name without a key means all processes of that name.
	name, key string
}

// sourcesOf returns the sources for several metrics of one instance.
func sourcesOf(name, key string, metrics ...string) (list []source) {
	for _, m := range metrics {
		list = append(list, source{m, name, key})
	}
	return list
}

// named matches the names of metrics in an expression.
var named = regexp.MustCompile(`[a-z]\w*(?:\.\w+)+`)

// metricsOf returns the metrics of the first expression that the archive can compute.
func (q *question) metricsOf(s *signal) []string {
	for _, text := range s.exprs {
		if q.recorded(text) {
			return named.FindAllString(text, -1)
		}
	}
	return nil
}

// recorded reports whether the archive has all metrics of an expression.
func (q *question) recorded(expression string) bool {
	return !slices.ContainsFunc(named.FindAllString(expression, -1), func(name string) bool { return q.a.Lookup(name) == nil })
}

// mostClaims bounds the claims of a line.
const mostClaims = 12

// proven gives findings their claims, and those of the findings in their lines.
func (q *question) proven(list []*finding) []*finding {
	for _, f := range list {
		q.prove(f)
		for _, s := range f.folded {
			q.prove(s)
			f.claims = append(f.claims, s.claims...)
		}
	}
	return list
}

// prove reads the values again that the sentences of a finding are based on: for counters how
// fast they grew from its beginning to its end, for levels the maximum.
func (q *question) prove(f *finding) {
	until := max(f.until, f.since+2*leastStep)
	for _, s := range f.sources[:min(len(f.sources), mostClaims)] {
		m := q.a.Lookup(s.metric)
		if m == nil || m.Type == metric.String {
			continue
		}
		sel := query.Window{Hosts: q.w.Hosts, From: f.since, To: until}.Selection(s.metric)
		sel.Prior = true
		switch {
		case s.key != "":
			sel.Keys = []string{s.key}
		case s.name != "":
			sel.Instance = func(_ string, in *metric.Instance) bool { return in.Title() == s.name }
		}
		c := Claim{Metric: s.metric, Instance: s.name, Key: s.key, From: f.since, To: until, Of: "max", Units: m.Units.String()}
		known := false
		for run := range q.a.Select(sel) {
			first, last, most := math.NaN(), math.NaN(), math.Inf(-1)
			for i := range run.Wall {
				if x := run.At(i).Number(); x == x {
					if first != first {
						first = x
					}
					last, most = x, math.Max(most, x)
				}
			}
			if last != last {
				continue
			}
			known = true
			if run.Metric.Sem != metric.Counter {
				c.Value += most
				continue
			}
			c.Of = "rate"
			gain := last - first
			if run.Instance != nil && run.Instance.Began() >= f.since {
				gain = last // All that it ever used.
			}
			c.Value += gain / (float64(until-f.since) / 1e9)
		}
		if known {
			f.claims = append(f.claims, c)
		}
	}
}
