package platform

import (
	"tachograph/sample/stack"
	"tachograph/sample/stack/mach"
	"tachograph/sample/stack/symbol"
)

// Stacks returns the sampler of processes' stacks on this platform, for one session.
func Stacks() (stack.Sampler, error) {
	return namedStacks{mach.New(), symbol.NewNamer(nil, symbol.Recording)}, nil
}

// namedStacks names functions from the files of images, where these had no names in memory.
type namedStacks struct {
	*mach.Sampler
	*symbol.Namer
}
