package chunk

import (
	"slices"
	"sync"
)

// Keys are keys that a question looks for in many groups.
type Keys struct {
	List []string
	set  func() map[string]bool
}

// NewKeys returns the Keys of a list.
func NewKeys(list []string) *Keys {
	return &Keys{list, sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool, len(list))
		for _, key := range list {
			set[key] = true
		}
		return set
	})}
}

// keyCost is how many keys can be read in the time that looking for one takes.
const keyCost = 8

// Few reports whether to look for so many keys one by one among so many instances. Otherwise
// it is cheaper to go through the keys of all the instances.
func Few(keys, instances int) bool { return keys*keyCost < instances }

// Rows returns the rows that have the keys, in rising order, without reading the other names.
func (g *Group) Rows(k *Keys) (rows []int, err error) {
	if Few(len(k.List), g.Size) {
		for _, key := range k.List {
			row, err := g.Find(key)
			if err != nil {
				return nil, err
			}
			if row >= 0 {
				rows = append(rows, row)
			}
		}
	} else if err := g.Keys(func(row int, key []byte) {
		if k.set()[string(key)] {
			rows = append(rows, row)
		}
	}); err != nil {
		return nil, err
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil
}
