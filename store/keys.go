package store

import (
	"sync"

	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// keys are the keys of the wanted instances of a domain, if they are few.
type keys struct {
	few  bool
	list []string
	set  func() map[string]bool // of the list
}

// setOf returns a function that makes a set of list when it is first called.
func setOf(list []string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool, len(list))
		for _, key := range list {
			set[key] = true
		}
		return set
	})
}

// sought reports whether to look for so many keys one by one among so many instances. Otherwise
// it is cheaper to go through the keys of all the instances.
func sought(keys, instances int) bool { return keys*keyCost < instances }

// keyCost is how many keys can be read in the time that looking for one takes.
const keyCost = 8

// mostKeys is the most instances that are looked for one by one. To find more, all names are
// decoded.
const mostKeys = 4096

// find returns the rows that have the keys, without reading the other names.
func (k *keys) find(v *archive.View) (found []int, err error) {
	if sought(len(k.list), v.Size) {
		for _, key := range k.list {
			i, err := v.Find(key)
			if err != nil {
				return nil, v.Ref.Wrong(err)
			}
			if i >= 0 {
				found = append(found, i)
			}
		}
	} else if err := v.Keys(func(row int, key []byte) {
		if k.set()[string(key)] {
			found = append(found, row)
		}
	}); err != nil {
		return nil, v.Ref.Wrong(err)
	}
	return found, nil
}

// A collector collects the keys of accepted instances.
type collector struct {
	*keys
	seen   map[string]bool // accepted keys, which are not asked about again
	accept func(in *chunk.Instance) bool
}

func (c *collector) add(in *chunk.Instance) {
	if len(c.list) <= mostKeys && !c.seen[in.Key] && c.accept(in) {
		c.seen[in.Key] = true
		c.list = append(c.list, in.Key)
	}
}

func (c *collector) end() {
	if c.few = len(c.list) <= mostKeys; !c.few {
		c.list = nil
	}
}

// ignore is the callback for decoding instances ahead, before they are needed.
func ignore(*chunk.Instance) {}
