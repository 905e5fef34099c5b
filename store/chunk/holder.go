package chunk

import "slices"

// A holder has the instances of a group: of a chunk in a file, as its version codes
// them, or of one in memory.
type holder interface {
	// all are the instances with their names, by row.
	all() ([]Instance, error)
	// one is a single instance; its names are there at least if it was found or
	// sought before.
	one(row int) (*Instance, error)
	// find is the row of the instance with this key, -1 if there is none.
	find(key string) (int, error)
	// keys calls fn with the key of each row, in any order; fn must not keep it.
	keys(fn func(row int, key []byte)) error
	// named makes sure that the names of these rows can be told.
	named(rows []int) error
	seek(s *Sought, fn func(in *Instance)) error
	lives() (*lifetimes, error)
}

// instances are those of a chunk in a file.
func (g *Group) instances() (holder, error) { return g.openRegister() }

// Holds reports whether more than its directory has been read of c.
func (c *Chunk) Holds() bool {
	return slices.ContainsFunc(c.Groups, func(g *Group) bool { return g.holder != nil })
}

// held are the instances of g.
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

// Instances are all instances with their names, in the order of the rows.
func (g *Group) Instances() ([]Instance, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	return h.all()
}

// Instance is one instance. Its names are there if it was found or sought, or if
// all were asked for.
func (g *Group) Instance(row int) (*Instance, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	return h.one(row)
}

// Keys calls fn with the key of each row, in any order and without more of the
// names than that takes; fn must not keep it.
func (g *Group) Keys(fn func(row int, key []byte)) error {
	h, err := g.held()
	if err != nil {
		return err
	}
	return h.keys(fn)
}

// Named makes sure that the names of these rows can be told.
func (g *Group) Named(rows []int) error {
	h, err := g.held()
	if err != nil {
		return err
	}
	return h.named(rows)
}

// Find returns the row of the instance with this key, -1 if it is not there. It
// decodes no more than it must.
func (g *Group) Find(key string) (int, error) {
	h, err := g.held()
	if err != nil {
		return -1, err
	}
	return h.find(key)
}

// Seek calls fn for the instances that may be sought, and perhaps for others.
func (g *Group) Seek(s *Sought, fn func(in *Instance)) error {
	h, err := g.held()
	if err != nil {
		return err
	}
	return h.seek(s, fn)
}

// lives are how long the instances were there.
func (g *Group) lives() (*lifetimes, error) {
	h, err := g.held()
	if err != nil {
		return nil, err
	}
	return h.lives()
}
