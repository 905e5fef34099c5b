package darwin

import (
	"slices"
	"strings"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// registry supplies the values for the rows of one class of the I/O registry, "IOKit Class: key"
// and "IOKit Class/Dictionary: key". The words of their formulas are keys of a service, or of
// the dictionary that is one of its properties.
type registry struct {
	keys    []*sys.Key // of the leaves; nil for the source's own words
	inner   []bool     // the key is in the dictionary
	dict    *sys.Key
	service sys.Service
	entries sys.Value // of the dictionary
}

// newRegistry makes the keys of some leaves, except for words that begin with one of own. All
// leaves in a dictionary must be in the same one.
func newRegistry(leaves []rows.Leaf, own ...string) *registry {
	r := &registry{keys: make([]*sys.Key, len(leaves)), inner: make([]bool, len(leaves))}
	for i, l := range leaves {
		dict, inner := strings.CutPrefix(l.Question, "/")
		if r.inner[i] = inner; inner && r.dict == nil {
			r.dict = sys.NewKey(dict)
		}
		if !slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(l.Word, prefix) }) {
			r.keys[i] = sys.NewKey(l.Word)
		}
	}
	return r
}

func (r *registry) close() {
	for _, k := range append(r.keys, r.dict) {
		if k != nil {
			k.Release()
		}
	}
}

// ask selects the service to read, until done.
func (r *registry) ask(x sys.Service) {
	r.service = x
	if r.dict != nil {
		r.entries = x.Property(r.dict)
	}
}

func (r *registry) done() {
	r.entries.Release()
	r.entries = sys.Value{}
}

// Leaf is a number; a missing number is one that the driver does not support.
func (r *registry) Leaf(i int) rows.Value {
	k := r.keys[i]
	if k == nil {
		return rows.Value{Miss: metric.Unsupported}
	}
	if r.inner[i] {
		return numberOf(r.entries.Get(k))
	}
	v := r.service.Property(k)
	defer v.Release()
	return numberOf(v)
}

func numberOf(v sys.Value) rows.Value {
	n, ok := v.Int()
	if !ok {
		return rows.Value{Miss: metric.Unsupported}
	}
	return rows.Value{Bits: uint64(n)}
}
