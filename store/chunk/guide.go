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

// guide returns the register's guide, or nil.
func (r *register) guide() Guide {
	if lead := r.g.lead; lead != nil {
		r.g.lead = nil
		r.led = lead()
	}
	return r.led
}

// guided calls fn with the guide. It returns false if there is none, or if it is wrong, and then
// never asks it again: the chunk itself has the answer.
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

// rowOf returns the row that the guide gives for a key; ok is false if the segments must be
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

// shown returns the instances that s may match among those that the guide lists; ok is false if
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
