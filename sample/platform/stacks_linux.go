package platform

import (
	"tachograph/sample/stack"
	"tachograph/sample/stack/perf"
	"tachograph/sample/stack/symbol"
)

// Stacks returns the sampler of processes' stacks on this platform, for one session.
func Stacks() (stack.Sampler, error) {
	s := perf.New()
	return namedStacks{s, symbol.NewNamer(s.Open, symbol.Recording)}, nil
}

// namedStacks names functions from the mapped files.
type namedStacks struct {
	*perf.Sampler
	*symbol.Namer
}
