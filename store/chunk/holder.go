package chunk

import "slices"

// A holder has the instances of a group. The group is in a chunk of a file, in the coding of
// its version, or in memory.
type holder interface {
	// all returns the instances with their names, by row.
	all() ([]Instance, error)
	// one returns a single instance. Its names are there at least if it was found or sought
	// before.
	one(row int) (*Instance, error)
	// find returns the row of the instance with this key, -1 if there is none.
	find(key string) (int, error)
	// keys calls fn with the key of each row, in any order; fn must not keep it.
	keys(fn func(row int, key []byte)) error
	// named makes sure that the names of these rows have been read.
	named(rows []int) error
	seek(s *Sought, fn func(in *Instance)) error
	lives() (*lifetimes, error)
}

// instances returns the holder for a chunk in a file.
func (g *Group) instances() (holder, error) { return g.openRegister() }

// Holds reports whether more of c than its directory has been read.
func (c *Chunk) Holds() bool {
	return slices.ContainsFunc(c.Groups, func(g *Group) bool { return g.holder != nil })
}

// held returns the instances of g.
func (g *Group) held() (holder, error) {
	if g.holder == nil {
		h, err := g.chunk.codec.instances(g)
		if err != nil {
			return nil, err
		}
		g.holder = h
	}
	return g.holder, nil
}

// Instances returns all instances with their names, in the order of the rows.
func (g *Group) Instances() ([]Instance, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	return h.all()
}

// Instance returns one instance. Its names are there if it was found or sought, or after a call
// of Instances.
func (g *Group) Instance(row int) (*Instance, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	return h.one(row)
}

// Keys calls fn with the key of each row, in any order, and decodes no more of the names than
// that takes. fn must not keep its argument.
func (g *Group) Keys(fn func(row int, key []byte)) error {
	h, err := g.held()
	if err != nil {
		return err
	}
	return h.keys(fn)
}

// Named makes sure that the names of these rows have been read.
func (g *Group) Named(rows []int) error {
	h, err := g.held()
	if err != nil {
		return err
	}
	return h.named(rows)
}

// Find returns the row of the instance with this key, -1 if it is not there. It decodes no more
// than necessary.
func (g *Group) Find(key string) (int, error) {
	h, err := g.held()
	if err != nil {
		return -1, err
	}
	return h.find(key)
}

// Seek calls fn for the instances that s may match, and perhaps for others.
func (g *Group) Seek(s *Sought, fn func(in *Instance)) error {
	h, err := g.held()
	if err != nil {
		return err
	}
	return h.seek(s, fn)
}

// lives returns how long the instances were there.
func (g *Group) lives() (*lifetimes, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	return h.lives()
}
