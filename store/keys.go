package store

import (
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// keys are the keys of the wanted instances of a domain, if they are few.
type keys struct {
	few bool
	*chunk.Keys
}

// mostKeys is the most instances that are looked for one by one. To find more, all names are
// decoded.
const mostKeys = 4096

// find returns the rows that have the keys.
func (k *keys) find(v *archive.View) ([]int, error) {
	rows, err := v.Rows(k.Keys)
	if err != nil {
		return nil, v.Ref.Wrong(err)
	}
	return rows, nil
}

// A collector collects the keys of accepted instances.
type collector struct {
	list   []string
	seen   map[string]bool // accepted keys, which are not asked about again
	accept func(in *chunk.Instance) bool
}

func (c *collector) add(in *chunk.Instance) {
	if len(c.list) <= mostKeys && !c.seen[in.Key] && c.accept(in) {
		c.seen[in.Key] = true
		c.list = append(c.list, in.Key)
	}
}

// keys returns the keys, if they are few.
func (c *collector) keys() (list []string, few bool) {
	if len(c.list) > mostKeys {
		return nil, false
	}
	return c.list, true
}

// ignore is the callback for decoding instances ahead, before they are needed.
func ignore(*chunk.Instance) {}
