package digest

import (
	"reflect"
	"slices"

	"tachograph/store/chunk"
)

// says returns an error unless p says the same as want.
func (p *Places) says(want *Places) error {
	if len(p.groups) != len(want.groups) {
		return errOtherPlaces
	}
	for name, g := range p.groups {
		other := want.groups[name]
		if other == nil {
			return errOtherPlaces
		}
		for _, g := range []*placesGroup{g, other} {
			if err := g.fill(); err != nil {
				return err
			}
		}
		if !slices.Equal(g.numbers, other.numbers) || !slices.Equal(g.least, other.least) || !slices.Equal(g.greatest, other.greatest) {
			return errOtherPlaces
		}
		for _, pair := range [][2]*chunk.Group{{g.early, other.early}, {g.names, other.names}} {
			have, err := allPlaced(pair[0])
			if err != nil {
				return err
			}
			said, err := allPlaced(pair[1])
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(have, said) {
				return errOtherPlaces
			}
		}
	}
	return nil
}

// allPlaced reads the instances of a group of the record, by key.
func allPlaced(g *chunk.Group) (map[string]*placed, error) {
	out := make(map[string]*placed)
	if g == nil {
		return out, nil
	}
	if _, err := g.Instances(); err != nil {
		return nil, err
	}
	rows := make([]int, g.Size)
	for row := range rows {
		rows[row] = row
	}
	list, err := readPlaced(g, rows)
	for _, p := range list {
		out[p.key] = p
	}
	return out, err
}
