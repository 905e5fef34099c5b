package why

import (
	"iter"
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
	q.date(all)
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
	claim  Claim
	known  bool          // there were values
	ranges []*valueRange // of the series with values that it was read from
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

// rests makes a proof rest on a series, too, with what that came to.
func (p *proof) rests(r *valueRange, amount float64) {
	if p.pattern != nil {
		p.claim.Instance, p.claim.Key = r.instance.Name, r.instance.Key
	}
	p.known, p.ranges = true, append(p.ranges, r)
	p.claim.Value += amount
}

// prove reads the values again that some sentences are based on: for counters how fast they grew
// from the beginning of a finding to its end, for levels the maximum. A level that was not read in
// that time is what it was when it was last read before.
func (q *question) prove(at proofTime, list []*proof) {
	if at.named {
		if list = q.proveNames(at, list); len(list) == 0 {
			return
		}
	}
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
	sel.Prior, sel.Whole = true, true
	for _, r := range q.ranges(sel) {
		for p := range about(list, r) {
			if r.desc.Sem != metric.Counter {
				if r.inside.begin == 0 {
					p.claim.From = min(p.claim.From, r.end)
				}
				p.rests(r, r.highest())
				continue
			}
			p.claim.Of = "rate"
			p.rests(r, r.gain(at)/(float64(at.to-at.from)/1e9))
		}
	}
}

// ofNames says of some metrics of processes how archives know what those of a name gained together.
var ofNames = map[string]struct {
	counter query.ProcessCounter
	by      query.By
	unit    metric.Units
}{
	"proc.psinfo.utime": {query.UserTime, query.ByCPU, metric.Seconds}, "proc.psinfo.stime": {query.SystemTime, query.ByCPU, metric.Seconds},
	"proc.io.read_bytes": {query.ReadBytes, query.ByRead, metric.Bytes}, "proc.io.write_bytes": {query.WrittenBytes, query.ByWrite, metric.Bytes},
}

// proveNames proves what the processes of a name gained together without reading each of them, of
// whom there may be very many. It returns the other proofs.
func (q *question) proveNames(at proofTime, list []*proof) (others []*proof) {
	tops := make(map[query.By][]*query.Consumer)
	for _, p := range list {
		of, ok := ofNames[p.metric]
		unit, err := q.a.Lookup(p.metric).Units.Factor(of.unit)
		if !ok || err != nil {
			others = append(others, p)
			continue
		}
		if tops[of.by] == nil {
			tops[of.by] = []*query.Consumer{}
			if ranked, err := query.TopNames(q.a, query.Window{Hosts: q.w.Hosts, From: at.from, To: at.to}, math.MaxInt, of.by); err == nil {
				tops[of.by] = ranked[0].Consumers
			}
		}
		for _, c := range tops[of.by] {
			if gain := c.Gains[of.counter]; c.Name == p.name && gain == gain {
				p.known, p.claim.Of = true, "rate"
				p.claim.Value += gain / unit / (float64(at.to-at.from) / 1e9)
			}
		}
	}
	return others
}

// about yields the proofs that are about a series.
func about(list []*proof, r *valueRange) iter.Seq[*proof] {
	return func(yield func(*proof) bool) {
		for _, p := range list {
			if p.metric == r.desc.Name && p.about(r.instance) && !yield(p) {
				return
			}
		}
	}
}
