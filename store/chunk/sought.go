package chunk

// A Sought tells from parts of keys and names which instances a question may
// mean, so that the others need not be decoded. An instance may be meant if its
// key or one of its names has any of the traits.
type Sought struct {
	Traits []Trait
	// Labels are names of labels that may tell what keys and names do not: no
	// instance that may have one is ruled out.
	Labels []string
}

// A Trait is what is known of a text that is looked for.
type Trait struct {
	// Frame reports whether a text may be meant that is like this one but has
	// digits in place of each zero byte; nil if any may.
	Frame func(frame string) bool
	// Ends are what its figures end in, each at least one of them.
	Ends []Ending
}

// An Ending is of figures that leave Value when divided by Mod, or, if that is
// 0, of those that are Value.
type Ending struct{ Value, Mod uint64 }

// Seek calls fn for the instances that may be sought, and perhaps for others.
func (g *Group) Seek(s *Sought, fn func(in *Instance)) error {
	insts, err := g.Instances()
	if err != nil {
		return err
	}
	for i := range insts {
		fn(&insts[i])
	}
	return nil
}
