package query

import (
	"maps"
	"math"
	"slices"

	"tachograph/sample/metric"
)

// groupers say what each kind of group is called that an expression can bring processes together
// by: they return the group's name, or "" for a process that belongs to none.
var groupers = func() map[string]func(in *metric.Instance) (kind, name string) {
	all := map[string]func(in *metric.Instance) (kind, name string){
		"name":  func(in *metric.Instance) (kind, name string) { return "", ProcessName(in) },
		"owner": (*metric.Instance).MainOwner,
	}
	for _, kind := range metric.OwnerKinds {
		all[kind] = func(in *metric.Instance) (string, string) { return kind, in.Label(kind) }
	}
	return all
}()

// Groupers returns the kinds of groups that an expression can bring processes together by.
func Groupers() []string { return slices.Sorted(maps.Keys(groupers)) }

// groupOf returns the group that a process belongs to, as an instance of the domain by; nil if it
// belongs to none. The name of an owner is in the label that is called like its kind, as that of a
// process's owner is.
func groupOf(by string, in *metric.Instance) *metric.Instance {
	kind, name := groupers[by](in)
	switch {
	case name == "":
		return nil
	case kind == "":
		return &metric.Instance{Key: name, Name: name}
	}
	key := name
	if kind != by {
		key = kind + " " + name // a container and an app may have the same name
	}
	return &metric.Instance{Key: key, Name: name, Labels: []metric.Label{{Name: kind, Value: name}}}
}

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
			g := groupOf(n.by, r.in)
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
