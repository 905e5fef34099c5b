package why

import (
	"math"
	"regexp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// source is a metric that a finding is based on.
type source struct {
	metric string
	// name and key identify its instance; a name without a key means all processes of that name.
	name, key string
	pattern   *regexp.Regexp // else of the instance's name; nil: all instances
}

// sourcesOf returns the sources for several metrics of one instance.
func sourcesOf(name, key string, metrics ...string) (list []source) {
	for _, m := range metrics {
		list = append(list, source{metric: m, name: name, key: key})
	}
	return list
}

// named matches the names of metrics in an expression, each with the pattern of its instances.
var named = regexp.MustCompile(`([a-z]\w*(?:\.\w+)+)(?:\[/(.*?)/\])?`)

// sourcesOfSignal returns the sources of a signal for an instance: the metrics of the first
// expression that the archive can compute.
func (q *question) sourcesOfSignal(s *signal, name, key string) (list []source) {
	for _, text := range s.exprs {
		if !recorded(q.a, text) {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			one := source{metric: m[1], name: name, key: key}
			if m[2] != "" {
				one.pattern = regexp.MustCompile(m[2])
			}
			list = append(list, one)
		}
		return list
	}
	return nil
}

// recorded reports whether the archive has all metrics of an expression.
func recorded(a query.Archive, expression string) bool {
	return !slices.ContainsFunc(named.FindAllStringSubmatch(expression, -1), func(m []string) bool { return a.Lookup(m[1]) == nil })
}

// mostClaims bounds the claims of a line.
const mostClaims = 12

// proven gives findings their claims, and those of the findings in their lines.
func (q *question) proven(list []*finding) []*finding {
	var all []*proof
	for _, f := range list {
		all = append(all, q.proofs(f)...)
		for _, s := range f.folded {
			all = append(all, q.proofs(s)...)
		}
	}
	q.proveAll(all)
	q.compare(all)
	claims := func(f *finding) {
		for _, p := range all {
			if p.of == f && p.known {
				f.claims = append(f.claims, p.claim)
			}
		}
	}
	for _, f := range list {
		claims(f)
		for _, s := range f.folded {
			claims(s)
			f.claims = append(f.claims, s.claims...)
		}
	}
	return list
}

// proveAll reads what proofs need; those that need the same time are read together.
func (q *question) proveAll(all []*proof) {
	of := make(map[proofTime][]*proof)
	for _, p := range all {
		of[p.proofTime] = append(of[p.proofTime], p)
	}
	for at, some := range of {
		q.prove(at, some)
	}
}

// compare adds to the claims of proofs what the same values were in the calm stretch.
func (q *question) compare(all []*proof) {
	if q.calm.To == 0 {
		return
	}
	var calm, of []*proof
	for _, p := range all {
		if !p.known {
			continue
		}
		c := &proof{source: p.source, proofTime: p.proofTime, claim: Claim{Of: "max"}}
		c.from, c.to = q.calm.From, q.calm.To
		if p.pattern != nil {
			c.by, c.key, c.pattern = true, p.claim.Key, nil
		}
		calm, of = append(calm, c), append(of, p)
	}
	q.proveAll(calm)
	for i, c := range calm {
		if c.known {
			of[i].claim.Usual = c.claim.Value
		}
	}
}

// A proof is a claim of a finding that is computed from the archive.
type proof struct {
	of *finding
	source
	proofTime
	claim Claim
	known bool // there were values
}

// proofTime is what proofs that are read together have in common.
type proofTime struct {
	from, to  int64
	by, named bool // instances are chosen by key, or by name
}

// proofs returns the proofs of a finding, without values.
func (q *question) proofs(f *finding) (list []*proof) {
	until := max(f.until, f.since+2*leastStep)
	for _, s := range f.sources[:min(len(f.sources), mostClaims)] {
		m := q.a.Lookup(s.metric)
		if m == nil || m.Type == metric.String {
			continue
		}
		p := &proof{of: f, source: s, proofTime: proofTime{f.since, until, s.key != "", s.key == "" && s.name != ""}}
		p.claim = Claim{Metric: s.metric, Instance: s.name, Key: s.key, From: f.since, To: until, Of: "max", Units: m.Units.String(), Usual: math.NaN()}
		list = append(list, p)
	}
	return list
}

// about reports whether a proof is about an instance.
func (p *proof) about(in *metric.Instance) bool {
	switch {
	case p.by:
		return in != nil && in.Key == p.key
	case p.named:
		return in != nil && in.Title() == p.name
	case p.pattern != nil:
		return in != nil && p.pattern.MatchString(in.Name)
	}
	return true
}

// prove reads the values again that some sentences are based on: for counters how fast they grew
// from the beginning of a finding to its end, for levels the maximum.
func (q *question) prove(at proofTime, list []*proof) {
	sel := query.Window{Hosts: q.w.Hosts, From: at.from, To: at.to}.Selection()
	for _, p := range list {
		if !slices.Contains(sel.Metrics, p.metric) {
			sel.Metrics = append(sel.Metrics, p.metric)
		}
		if at.by {
			sel.Keys = append(sel.Keys, p.key)
		}
	}
	if at.named {
		sel.Instance = func(_ string, in *metric.Instance) bool {
			return slices.ContainsFunc(list, func(p *proof) bool { return p.about(in) })
		}
	}
	begun := make(map[seriesID]*valueRange) // series with a value at the very beginning
	for _, r := range q.ranges(sel) {
		if r.begin == at.from {
			begun[r.id()] = r
		}
	}
	sel.Prior = true
	for _, r := range q.ranges(sel) {
		if b := begun[r.id()]; b != nil {
			r.first, r.begin = b.first, b.begin
		}
		for _, p := range list {
			if p.metric != r.desc.Name || !p.about(r.instance) {
				continue
			}
			if p.known = true; p.pattern != nil {
				p.claim.Instance, p.claim.Key = r.instance.Name, r.instance.Key
			}
			if r.desc.Sem != metric.Counter {
				p.claim.Value += r.most
				continue
			}
			p.claim.Of = "rate"
			gain := (r.last - r.first) * r.within(at.from, at.to)
			if r.instance != nil && r.instance.Began() >= at.from {
				gain = r.last // All that it ever used.
			}
			p.claim.Value += gain / (float64(at.to-at.from) / 1e9)
		}
	}
}

// A valueRange is the first, the last and the highest value of a series.
type valueRange struct {
	desc              *metric.Desc
	instance          *metric.Instance
	first, last, most float64
	begin, end        int64 // the times of the first and the last
}

// A seriesID says which series it is.
type seriesID struct {
	metric string
	in     *metric.Instance
}

func (r *valueRange) id() seriesID { return seriesID{r.desc.Name, r.instance} }

// within is how much of the time from the first value to the last is in a stretch: the first may
// be that before the stretch.
func (r *valueRange) within(from, to int64) float64 {
	if r.end <= r.begin {
		return 1
	}
	return float64(max(min(r.end, to)-max(r.begin, from), 0)) / float64(r.end-r.begin)
}

// ranges returns the range of each series of a selection that has values.
func (q *question) ranges(sel store.Selection) (list []*valueRange) {
	of := make(map[seriesID]*valueRange)
	for s := range q.a.Summarize(sel) {
		if s.Count == 0 {
			continue
		}
		id := seriesID{s.Metric.Name, s.Instance}
		r := of[id]
		if r == nil {
			r = &valueRange{desc: s.Metric, instance: s.Instance, first: metric.Number(s.Metric.Type, s.First.Bits), begin: s.First.Wall, most: math.Inf(-1)}
			of[id], list = r, append(list, r)
		}
		r.end, r.last, r.most = s.Last.Wall, metric.Number(s.Metric.Type, s.Last.Bits), math.Max(r.most, metric.Number(s.Metric.Type, s.Max))
	}
	return list
}
