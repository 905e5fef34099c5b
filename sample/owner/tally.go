package owner

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
)

// Count says how many processes an owner has, and how the owner was found.
type Count struct {
	Kind, Name string // both are empty for the processes without an owner
	Processes  int
	FoundBy    string // of the first process; of those without an owner: why there is none
}

// Tally counts the processes of owners.
type Tally struct{ counts map[[2]string]*Count }

// Add counts a process. foundBy says how a field of its owners was found.
func (t *Tally) Add(o *Owner, foundBy func(Field) string) {
	owned := false
	for f := range Bundle {
		if name, _ := o.Get(f); name != "" {
			owned = true
			t.add(f.String(), name, func() string { return foundBy(f) })
		}
	}
	if !owned {
		_, why := o.Get(Service)
		t.add("", why.String(), why.String)
	}
}

func (t *Tally) add(kind, name string, foundBy func() string) {
	key := [2]string{kind, name}
	c := t.counts[key]
	if c == nil {
		if t.counts == nil {
			t.counts = make(map[[2]string]*Count)
		}
		c = &Count{Kind: kind, Name: name, FoundBy: foundBy()}
		if kind == "" {
			c.Name = ""
		}
		t.counts[key] = c
	}
	c.Processes++
}

// Counts returns the counts by kind, in the order of metric.OwnerKinds and those without an owner
// last, and of a kind those with most processes first.
func (t *Tally) Counts() []Count {
	rank := func(kind string) int {
		if i := slices.Index(metric.OwnerKinds, kind); i >= 0 {
			return i
		}
		return len(metric.OwnerKinds)
	}
	var list []Count
	for _, c := range t.counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(cmp.Compare(rank(a.Kind), rank(b.Kind)), cmp.Compare(b.Processes, a.Processes), cmp.Compare(a.Name, b.Name), cmp.Compare(a.FoundBy, b.FoundBy))
	})
	return list
}
