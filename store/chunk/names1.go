package chunk

import "slices"

// names1 reads the instances of a chunk of version 1, whose names follow on each
// other.
type names1 struct {
	g          *Group
	insts      []Instance
	life       *lifetimes
	names      *nameReader
	wrongNames error
	byKey      map[string]int32 // once all names have been decoded
}

// roster is the instances with the runs of blocks they were in; their names
// may not have been read yet.
func (n *names1) roster() ([]Instance, error) {
	if n.insts == nil {
		g := n.g
		b, err := g.read(g.livesAt, "roster")
		if err != nil {
			return nil, err
		}
		runs, lives, err := decodeRoster(b, g.Size, g.Blocks, g.limit())
		if err != nil {
			return nil, g.wrong("roster", err)
		}
		n.life = &lifetimes{list: lives}
		n.insts = make([]Instance, g.Size)
		for i := range runs {
			n.insts[i].Runs = runs[i]
		}
	}
	return n.insts, nil
}

func (n *names1) lives() (*lifetimes, error) {
	_, err := n.roster()
	return n.life, err
}

func (n *names1) all() ([]Instance, error) {
	for {
		i, err := n.name()
		if err != nil || i < 0 {
			return n.insts, err
		}
	}
}

func (n *names1) keys(fn func(row int, key []byte)) error {
	insts, err := n.all()
	if err != nil {
		return err
	}
	for i := range insts {
		fn(i, []byte(insts[i].Key))
	}
	return nil
}

func (n *names1) named([]int) error {
	_, err := n.all()
	return err
}

func (n *names1) one(row int) (*Instance, error) {
	insts, err := n.roster()
	if err != nil {
		return nil, err
	}
	return &insts[row], nil
}

func (n *names1) seek(_ *Sought, fn func(in *Instance)) error {
	insts, err := n.all()
	if err != nil {
		return err
	}
	for i := range insts {
		fn(&insts[i])
	}
	return nil
}

// name decodes the names of one more instance and returns its number, -1 at
// the end.
func (n *names1) name() (int, error) {
	if n.wrongNames != nil {
		return -1, n.wrongNames
	}
	g := n.g
	if n.names == nil {
		if _, err := n.roster(); err != nil {
			return -1, err
		}
		b, err := g.read(g.namesAt, "names")
		if err != nil {
			return -1, err
		}
		if n.names, err = newNameReader(b, n.insts, g.Blocks); err != nil {
			return -1, g.wrong("names", err)
		}
	}
	i, err := n.names.step()
	if err != nil {
		n.wrongNames = g.wrong("names", err)
	}
	return i, n.wrongNames
}

// find decodes no more names than it must.
func (n *names1) find(key string) (int, error) {
	if n.names == nil {
		b, err := n.g.read(n.g.indexAt, "filter")
		if err != nil {
			return -1, err
		}
		if !mayHold(b, key) {
			return -1, nil
		}
	} else if i := n.decoded(key); i >= 0 {
		return i, nil
	}
	for {
		i, err := n.name()
		if err != nil || i < 0 || n.insts[i].Key == key {
			return i, err
		}
	}
}

// decoded is the number of the instance with this key if its names have been
// decoded, -1 otherwise.
func (n *names1) decoded(key string) int {
	done := n.names.order[:n.names.next]
	if len(done) < n.g.Size {
		for _, i := range done {
			if n.insts[i].Key == key {
				return int(i)
			}
		}
		return -1
	}
	if n.byKey == nil { // Who asks again asks often.
		n.byKey = make(map[string]int32, len(done))
		for _, i := range slices.Backward(done) {
			n.byKey[n.insts[i].Key] = i
		}
	}
	if i, ok := n.byKey[key]; ok {
		return int(i)
	}
	return -1
}
