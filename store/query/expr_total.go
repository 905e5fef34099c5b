package query

import (
	"math"

	"tachograph/sample/metric"
)

// A total brings values together.
type total struct{ n, sum, best float64 }

// add adds a value for a function.
func (t *total) add(function string, x float64) {
	if x != x {
		return
	}
	if t.n == 0 || function == "min" && x < t.best || function == "max" && x > t.best {
		t.best = x
	}
	t.n++
	t.sum += x
}

// of returns what a function makes of the values. Nobody counts a group that is not there.
func (t *total) of(function string, group bool) float64 {
	switch {
	case t.n == 0 && (group || function != "count"):
		return math.NaN()
	case function == "count":
		return t.n
	case function == "sum":
		return t.sum
	case function == "avg":
		return t.sum / t.n
	}
	return t.best
}

// totalsOf aggregates the instances of v, all of them or those of each group.
func totalsOf(n *node, v *vector, length int) *vector {
	all := make(map[string][]total)
	groups := make(map[string]*metric.Instance)
	var order []string
	for _, k := range v.keys {
		r := v.rows[k]
		key := ""
		if n.by != "" {
			g := Grouping(n.by).group(r.in)
			if g == nil {
				continue
			}
			key = g.Key
			groups[key] = g
		}
		if all[key] == nil {
			all[key] = make([]total, length)
			order = append(order, key)
		}
		for i, x := range r.vals {
			all[key][i].add(n.text, x)
		}
	}
	if n.by == "" && len(order) == 0 {
		all[""], order = make([]total, length), []string{""}
	}
	out := newVector()
	for _, key := range order {
		r := out.row(key, groups[key], length)
		for i := range r.vals {
			r.vals[i] = all[key][i].of(n.text, n.by != "")
		}
	}
	return out
}
