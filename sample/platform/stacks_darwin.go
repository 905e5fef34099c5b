package platform

import (
	"tachograph/sample/stack"
	"tachograph/sample/stack/mach"
	"tachograph/sample/stack/symbol"
)

// Stacks is what looks at the stacks of processes here, for one session.
func Stacks() (stack.Sampler, error) {
	return namedStacks{mach.New(), symbol.NewNamer(nil, symbol.Recording)}, nil
}

// namedStacks names functions by the files of images, as far as these had no names
// in memory.
type namedStacks struct {
	*mach.Sampler
	*symbol.Namer
}
