package witness

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/config"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Set is the pairs that can be checked on a machine.
type Set struct {
	pairs []compiled
	// needs are the metrics that the pairs read, by name.
	needs map[string]*metric.Desc
}

// compiled is a pair with its expressions checked against a machine's metrics.
type compiled struct {
	*Pair
	least, most *query.Expr
	// scale converts the least to the units of the most.
	scale float64
	when  *query.Expr // nil if the two must always agree
	// growth says that the values are counted from one look to another.
	growth bool
	// needs are the metrics that it reads.
	needs []string
	// idle is why this machine cannot compare the two; empty if it can.
	idle string
}

// vocabulary has the metrics of a machine, by name.
type vocabulary map[string]*metric.Desc

func (v vocabulary) Lookup(name string) *metric.Desc { return v[name] }

func (v vocabulary) Metrics() []*metric.Desc {
	all := make([]*metric.Desc, 0, len(v))
	for _, d := range v {
		all = append(all, d)
	}
	return all
}

// For returns the pairs of a platform.
func For(p catalog.Platform) []Pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(one Pair) bool { return !slices.Contains(one.On, p) })
}

// Compile checks pairs against the metrics of a machine. A pair is idle if the machine lacks
// one of its metrics.
func Compile(pairs []Pair, descs []*metric.Desc) *Set {
	v := make(vocabulary, len(descs))
	for _, d := range descs {
		v[d.Name] = d
	}
	s := &Set{needs: make(map[string]*metric.Desc)}
	for i := range pairs {
		c, err := compile(&pairs[i], v)
		if err != nil {
			c.idle, _, _ = strings.Cut(err.Error(), "\n")
		}
		if c.idle == "" {
			for _, name := range c.needs {
				s.needs[name] = v[name]
			}
		}
		s.pairs = append(s.pairs, c)
	}
	return s
}

// Wants reports whether the pairs read a metric.
func (s *Set) Wants(d *metric.Desc) bool { return s.needs[d.Name] != nil }

func compile(p *Pair, v vocabulary) (compiled, error) {
	c := compiled{Pair: p, growth: strings.Contains(p.Least, "delta(")}
	var mistake error
	read := func(text string) *query.Expr {
		e, err := query.Compile(v, nil, text)
		if err != nil {
			mistake = err
			return nil
		}
		for _, name := range e.Metrics() {
			d := v[name]
			if d.Unsupported != "" && c.idle == "" {
				c.idle = name + " is not here: " + d.Unsupported
			}
			if !slices.Contains(c.needs, name) {
				c.needs = append(c.needs, name)
			}
		}
		return e
	}
	c.least, c.most = read(p.Least), read(p.Most)
	if p.When != "" {
		c.when = read(p.When)
	}
	if mistake != nil {
		return c, mistake
	}
	if c.least.Indom() != c.most.Indom() {
		return c, fmt.Errorf("%s has one value for each %q, %s for each %q", p.Least, c.least.Indom(), p.Most, c.most.Indom())
	}
	c.scale, mistake = c.least.Units().Factor(c.most.Units())
	return c, mistake
}

// Distrusted reports whether a metric is among those that p distrusts.
func (p *Pair) Distrusted(name string) bool {
	return slices.ContainsFunc(p.Distrusts, func(pattern string) bool { return config.Match(pattern, name) })
}
