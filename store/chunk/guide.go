package chunk

import (
	"errors"
	"slices"
)

// A Guide says where the instances of a group are that were there at its first block. With it a
// register decodes names only where a question is about the others.
type Guide interface {
	// Row returns the row of an instance, -1 if it was not there at the first block.
	Row(key string) (int, error)
	// Rows returns the rows of the instances that s may match.
	Rows(s *Sought) ([]int, error)
	// Instance returns the key and the name of an instance; ok is false if it had several names.
	Instance(row int) (key string, name Naming, ok bool, err error)
	// MayHold reports whether an instance with this key may have come after the first block.
	MayHold(key string) bool
}

// Lead makes g ask what guide returns, when it first looks for an instance; nil means that there
// is no Guide.
func (g *Group) Lead(guide func() Guide) { g.lead = guide }

var errGuide = errors.New("the digest of places contradicts the chunk")

// guide returns the register's guide, or nil. A guide that is wrong once is not asked again: the
// chunk knows what it knows.
func (r *register) guide() Guide {
	if lead := r.g.lead; lead != nil {
		r.g.lead = nil
		r.led = lead()
	}
	return r.led
}

// guided calls fn with the guide. It returns false if there is none, or if it is wrong.
func (r *register) guided(fn func(Guide) error) bool {
	guide := r.guide()
	if guide == nil {
		return false
	}
	if err := fn(guide); err != nil {
		r.led = nil
		return false
	}
	return true
}

// known returns an instance as the guide describes it; nil if it does not.
func (r *register) known(row int) (in *Instance) {
	if row >= r.early {
		return nil
	}
	r.guided(func(guide Guide) error {
		if in = r.byGuide[row]; in != nil {
			return nil
		}
		key, name, ok, err := guide.Instance(row)
		if err != nil || !ok {
			return err
		}
		name.Block = 0
		in = &Instance{Key: key, Names: []Naming{name}}
		if r.byGuide == nil {
			r.byGuide = make(map[int]*Instance)
		}
		r.byGuide[row] = in
		return nil
	})
	return in
}

// rowOf returns the row of a key as the guide knows it; ok is false if the segments must be
// searched.
func (r *register) rowOf(key string) (row int, ok bool) {
	ok = r.guided(func(guide Guide) (err error) {
		if row, err = guide.Row(key); err == nil && row >= r.early {
			err = errGuide
		}
		return err
	})
	return row, ok && (row >= 0 || !r.led.MayHold(key))
}

// shown returns the instances that s may match among those that the guide knows; ok is false if
// there is no guide.
func (r *register) shown(s *Sought) (list []*Instance, ok bool, err error) {
	var rows []int
	ok = r.guided(func(guide Guide) (err error) {
		if rows, err = guide.Rows(s); err == nil && slices.ContainsFunc(rows, func(row int) bool { return row < 0 || row >= r.early }) {
			err = errGuide
		}
		return err
	})
	for _, row := range rows {
		in, err := r.one(row)
		if err != nil {
			return nil, false, err
		}
		list = append(list, in)
	}
	return list, ok, nil
}

// LastFigure returns the last number in a key.
func LastFigure(key string) (v uint64, ok bool) {
	_, figures := split(key, nil)
	if len(figures) == 0 {
		return 0, false
	}
	return figures[len(figures)-1].value, true
}

// Early calls fn for the instances that were there at the first block, which have the first rows,
// and returns the least and the greatest last number in the keys of the others. Greatest is
// below least if there are no others.
func (g *Group) Early(fn func(row int, in *Instance)) (least, greatest uint64, err error) {
	insts, err := g.Instances()
	least = ^uint64(0)
	for row := range insts {
		in := &insts[row]
		if len(in.Runs) > 0 && in.Runs[0].Start == 0 {
			fn(row, in)
			continue
		}
		v, ok := LastFigure(in.Key)
		least, greatest = min(least, v), max(greatest, v)
		if !ok {
			least, greatest = 0, ^uint64(0)
		}
	}
	return least, greatest, err
}
